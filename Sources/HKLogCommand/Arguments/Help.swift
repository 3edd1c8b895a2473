/// Help and usage, made from the tables.
enum Help {
    static let version = "0.1.0"
    private static let width = 100

    /// What `hklog --help` prints.
    static func program() -> String {
        var text = """
            hklog keeps Apple Health data in an event-sourced log: batches go in, views come out.

            usage: hklog <command> [options]
                   hklog <command> --help
                   hklog --version

            commands:

            """
        let column = (CommandSpec.all.map { $0.name.utf8.count }.max() ?? 0) + 4
        for command in CommandSpec.all { text += entry("  " + command.name, command.summary, column: column) }
        text += "\non every command:\n"
        text += list(OptionSpec.common)
        text += """

            A first store:
              hklog generate --days 365 | hklog append
              hklog stats --type stepCount --every month

            """
        return text
    }

    /// What `hklog <command> --help` prints.
    static func command(_ command: CommandSpec) -> String {
        var text = usage(command) + "\n"
        for line in wrap(sentence(command.summary), to: width) { text += line + "\n" }
        for paragraph in command.details {
            text += "\n"
            for line in wrap(paragraph, to: width) { text += line + "\n" }
        }
        if let operands = command.operands {
            text += "\n"
            text += entry("  " + operands.name, operands.help, column: column(of: command.options))
        }
        if !command.options.isEmpty {
            text += "\noptions:\n" + list(command.options)
        }
        text += "\non every command:\n" + list(OptionSpec.common)
        return text
    }

    /// The line that shows how the command is called.
    static func usage(_ command: CommandSpec) -> String {
        var words = ["hklog", command.name]
        if let operands = command.operands {
            words.append(operands.least == 0 ? "[\(operands.name)]" : operands.name)
        }
        for spec in command.options { words.append(spec.isRequired ? spec.spelling : "[\(spec.spelling)]") }
        var lines: [String] = []
        var line = "usage:"
        for word in words {
            if line.utf8.count + 1 + word.utf8.count > width {
                lines.append(line)
                line = "      "
            }
            line += " " + word
        }
        return (lines + [line]).joined(separator: "\n") + "\n"
    }

    private static func sentence(_ text: String) -> String {
        guard let first = text.first else { return "" }
        return first.uppercased() + text.dropFirst() + (text.hasSuffix(".") ? "" : ".")
    }

    private static func column(of options: [OptionSpec]) -> Int {
        min(30, ((options + OptionSpec.common).map { $0.spelling.utf8.count }.max() ?? 0) + 4)
    }

    private static func list(_ options: [OptionSpec]) -> String {
        let column = column(of: options)
        return options.map { entry("  " + $0.spelling, $0.help, column: column) }.joined()
    }

    private static func entry(_ name: String, _ help: String, column: Int) -> String {
        let lines = wrap(help, to: width - column)
        let indent = String(repeating: " ", count: column)
        var text = name
        if name.utf8.count + 2 > column {
            text += "\n" + indent
        } else {
            text += String(repeating: " ", count: column - name.utf8.count)
        }
        return text + lines.joined(separator: "\n" + indent) + "\n"
    }

    private static func wrap(_ text: String, to width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty && line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return lines + [line]
    }
}
