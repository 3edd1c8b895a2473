internal import HKLog

/// What a command works with: its words, where results go, where messages go, and which store is meant.
struct Session {
    let arguments: ParsedArguments
    let output: OutputWriter
    let messages: Messages
    let format: OutputFormat
    let storePath: String
    let style: TextStyle

    init(arguments: ParsedArguments, output: OutputWriter, messages: Messages) throws(HKLogError) {
        self.arguments = arguments
        self.output = output
        self.messages = messages
        self.format = try arguments.choice(.format, of: OutputFormat.self) ?? .table
        let path = arguments.value(.store) ?? System.environment("HKLOG_STORE") ?? "health.hklog"
        guard !path.isEmpty else { throw .usage("--store: the folder's name is empty") }
        self.storePath = path
        self.style = TextStyle(
            width: System.terminalWidth(System.standardOutput),
            hasColor: System.isTerminal(System.standardOutput) && System.environment("NO_COLOR") == nil
                && System.environment("TERM") != "dumb" && !arguments.has(.noColor))
    }

    var isForPeople: Bool { format == .table }

    /// Opens the store to read it.
    func openForReading() throws(HKLogError) -> Store { try open(.read) }

    /// Opens the store and says what opening it met.
    func open(_ access: StoreAccess, sync: SyncPolicy = .batch) throws(HKLogError) -> Store {
        let store = try Store.open(at: storePath, access: access, sync: sync)
        tellWarnings(of: store)
        messages.detail(
            "store \(store.path), log anchor \(store.logAnchor), days of \(store.settings.timeZone)")
        return store
    }

    /// Says which store was made, where one was.
    func tellCreation(of store: Store) {
        guard store.wasCreated else { return }
        messages.notice("made the store \(store.path), with days of the time zone \(store.settings.timeZone)")
    }

    /// Passes on what the store has to say.
    func tellWarnings(of store: Store) {
        for warning in store.takeWarnings() { messages.warning(warning) }
    }

    /// Ends a command that has read from the store: its exit status is 74 where damage cut the answer short.
    ///
    /// After the answer, views that had to be caught up with the log are saved, so that the next command need not.
    func finish(with store: Store) throws(HKLogError) -> Int32 {
        // Results first, so that they stand above the messages in a terminal, and nobody waits for the views.
        try output.flush()
        tellWarnings(of: store)
        guard let damage = store.damage else {
            store.checkpointIfDue()
            return ExitStatus.done
        }
        messages.error(damage.message)
        return damage.code.exitStatus
    }

    /// What a long task calls with how far it has come.
    func progress(_ what: String, unit: ProgressBar.Unit) -> (UInt64, UInt64) -> Void {
        let messages = messages
        return { done, total in messages.progress(what, done: done, total: total, unit: unit) }
    }

    /// Prints a list.
    func print<Row>(
        _ rows: some Sequence<Row>, columns: [Column<Row>], empty: String, object: ((Row) -> [UInt8])? = nil
    ) throws(HKLogError) {
        var printer = try RowPrinter(
            columns: columns, format: format, output: output, style: style, object: object)
        for row in rows { try printer.print(row) }
        try printer.finish(empty: empty)
    }

    /// Prints one thing.
    func print<Thing>(_ thing: Thing, columns: [Column<Thing>]) throws(HKLogError) {
        try ThingPrinter(columns: columns, format: format, output: output, style: style).print(thing)
    }
}
