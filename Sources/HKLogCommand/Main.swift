internal import HKLog

/// The program: one command with its words, one exit status.
@main struct Main {
    static func main() {
        System.prepareSignals()
        System.leave(run(Array(CommandLine.arguments.dropFirst())))
    }

    private static func run(_ words: [String]) -> Int32 {
        let output = OutputWriter(descriptor: System.standardOutput, name: "standard output")
        let messages = Messages(
            isQuiet: words.contains("--quiet"), isVerbose: words.contains("--verbose"),
            hasColor: System.environment("NO_COLOR") == nil && !words.contains("--no-color"))
        var status = ExitStatus.done
        do throws(HKLogError) {
            status = try dispatch(words, output: output, messages: messages)
        } catch {
            status = report(error, command: words.first.flatMap { CommandSpec.named($0) }, messages: messages)
        }
        do throws(HKLogError) {
            try output.flush()
        } catch {
            let flushStatus = report(error, command: nil, messages: messages)
            if status == ExitStatus.done { status = flushStatus }
        }
        return status
    }

    private static func dispatch(
        _ words: [String], output: OutputWriter, messages: Messages
    ) throws(HKLogError) -> Int32 {
        guard let first = words.first else { throw .usage("a command is missing") }
        switch first {
        case "-h", "--help", "help":
            guard let name = words.dropFirst().first else {
                try output.write(Help.program())
                return ExitStatus.done
            }
            guard let command = CommandSpec.named(name) else { throw unknownCommand(name) }
            try output.write(Help.command(command))
            return ExitStatus.done
        case "--version":
            try output.write("hklog \(Help.version)\n")
            return ExitStatus.done
        default: break
        }
        guard let command = CommandSpec.named(first) else { throw unknownCommand(first) }
        let arguments = try ArgumentScanner.scan(Array(words.dropFirst()), for: command)
        if arguments.has(.help) {
            try output.write(Help.command(command))
            return ExitStatus.done
        }
        let session = try Session(arguments: arguments, output: output, messages: messages)
        return try command.run(session)
    }

    private static func unknownCommand(_ word: String) -> HKLogError {
        if word.hasPrefix("-") {
            return .usage("'\(SafeText.line(word))' stands before the command; options stand after it")
        }
        let hint = NearMiss.best(for: word, among: CommandSpec.all.map { $0.name }).map {
            "; did you mean \($0)?"
        }
        return .usage("there is no command '\(SafeText.line(word))'\(hint ?? "")")
    }

    /// Says what went wrong, if anything is to be said, and gives the exit status.
    private static func report(_ error: HKLogError, command: CommandSpec?, messages: Messages) -> Int32 {
        messages.endProgress()
        if error.code == .closedPipe || error.code == .interrupted { return error.code.exitStatus }
        messages.error(error.message)
        if error.code == .usage {
            messages.usage(command.map { Help.usage($0) } ?? "usage: hklog <command> [options]\n")
        }
        return error.code.exitStatus
    }
}
