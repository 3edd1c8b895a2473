internal import HKLog

/// The words of one call, read by the table of its command.
struct ParsedArguments {
    private var values: [Option: [String]] = [:]
    /// The words that are no options.
    private(set) var operands: [String] = []

    func has(_ option: Option) -> Bool { values[option] != nil }

    /// The option's value; where it stands several times, the last one.
    func value(_ option: Option) -> String? { values[option]?.last }

    /// All values of an option that may be repeated.
    func allValues(_ option: Option) -> [String] { values[option] ?? [] }

    fileprivate mutating func add(_ option: Option, _ value: String) {
        values[option, default: []].append(value)
    }

    fileprivate mutating func add(operand: String) { operands.append(operand) }
}

/// Reads words into options and operands.
enum ArgumentScanner {
    /// Reads what follows the command's name.
    ///
    /// Where `--help` is asked for, nothing else has to be right.
    static func scan(_ words: [String], for command: CommandSpec) throws(HKLogError) -> ParsedArguments {
        var result = ParsedArguments()
        var index = 0
        var optionsHaveEnded = false
        if asksForHelp(words) {
            result.add(.help, "")
            return result
        }
        while index < words.count {
            let word = words[index]
            index += 1
            if optionsHaveEnded || word == "-" || !word.hasPrefix("-") {
                result.add(operand: word)
                continue
            }
            if word == "--" {
                optionsHaveEnded = true
                continue
            }
            let (name, attached) = split(word)
            guard word.hasPrefix("--"), let spec = command.spec(named: name) else {
                throw unknownOption(word: word, name: name, command: command)
            }
            if spec.valueName == nil {
                guard attached == nil else { throw .usage("--\(name) takes no value") }
                result.add(spec.option, "")
            } else if let attached {
                result.add(spec.option, attached)
            } else {
                guard index < words.count, !looksLikeOption(words[index]) else {
                    throw .usage("\(spec.spelling): the value is missing")
                }
                result.add(spec.option, words[index])
                index += 1
            }
        }
        try checkOperands(result.operands, of: command)
        for spec in command.options where spec.isRequired && !result.has(spec.option) {
            throw .usage("\(command.name) wants \(spec.spelling)")
        }
        return result
    }

    private static func asksForHelp(_ words: [String]) -> Bool {
        for word in words {
            if word == "--" { return false }
            if word == "--help" || word == "-h" { return true }
        }
        return false
    }

    private static func split(_ word: String) -> (name: String, value: String?) {
        let body = word.drop { $0 == "-" }
        guard let sign = body.utf8.firstIndex(of: UInt8(ascii: "=")) else { return (String(body), nil) }
        return (String(body[..<sign]), String(body[body.utf8.index(after: sign)...]))
    }

    /// A value that begins with two dashes must be attached: `--source=--name`.
    private static func looksLikeOption(_ word: String) -> Bool {
        word.hasPrefix("--") && word.utf8.count > 2
    }

    private static func unknownOption(word: String, name: String, command: CommandSpec) -> HKLogError {
        let known = (command.options + OptionSpec.common).map { $0.option.rawValue }
        let hint = NearMiss.best(for: name, among: known).map { "; did you mean --\($0)?" } ?? ""
        let shown = word.split(separator: "=", maxSplits: 1).first.map(String.init) ?? word
        return .usage("\(command.name) has no option \(SafeText.line(shown))\(hint)")
    }

    private static func checkOperands(_ operands: [String], of command: CommandSpec) throws(HKLogError) {
        let most = command.operands?.most ?? 0
        if operands.count > most {
            throw .usage("\(command.name): '\(SafeText.line(operands[most]))' is one word too many")
        }
        if let wanted = command.operands, operands.count < wanted.least {
            throw .usage("\(command.name) wants \(wanted.name)")
        }
    }
}
