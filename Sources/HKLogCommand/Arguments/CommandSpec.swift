internal import HKLog

/// Everything that is to be known of one command: how its words are read, what its help says, what it runs.
struct CommandSpec: Sendable {
    /// The words beside the options.
    struct Operands: Sendable {
        /// As the help writes them.
        let name: String
        let help: String
        let least: Int
        let most: Int
    }

    let name: String
    /// One line, for the list of commands.
    let summary: String
    /// More lines, for the command's own help.
    let details: [String]
    let operands: Operands?
    let options: [OptionSpec]
    let run: @Sendable (Session) throws(HKLogError) -> Int32

    init(
        _ name: String, _ summary: String, details: [String] = [], operands: Operands? = nil,
        options: [OptionSpec], run: @escaping @Sendable (Session) throws(HKLogError) -> Int32
    ) {
        self.name = name
        self.summary = summary
        self.details = details
        self.operands = operands
        self.options = options
        self.run = run
    }

    func spec(named name: String) -> OptionSpec? {
        options.first { $0.option.rawValue == name } ?? OptionSpec.common.first { $0.option.rawValue == name }
    }

    static func named(_ name: String) -> CommandSpec? { all.first { $0.name == name } }
}
