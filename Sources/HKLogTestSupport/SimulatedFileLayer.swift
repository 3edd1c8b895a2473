internal import Synchronization
package import HKLog

/// A file system in memory that keeps what is durable apart from what is not, as strictly as the rules allow.
///
/// A file's bytes are durable up to its last successful sync, a name from the sync of its directory on. What was
/// done since may survive a loss of power or not, in any part and any order; `crashStates` makes such states.
/// Any call can be made to fail, or to do only a part of its work, at any of its occurrences.
package final class SimulatedFileLayer: FileLayer {
    /// What a planned call does instead of its work.
    package enum Fault: Sendable, Equatable {
        /// Fails with an error number.
        case failure(Int32)
        /// Does only half of what was asked (reads and writes alone).
        case short
        /// Does half of its work and fails all the same (writes alone).
        case tornFailure(Int32)
    }

    /// A change that is not durable yet.
    enum Change: Sendable {
        case write(Int, [UInt8])
        case truncate(Int)
        case link(String, Int)
        case unlink(String)
        case rename(String, String)
    }

    struct Pending: Sendable {
        var change: Change
        /// The order in which changes were made, over all files.
        var number: Int64 = 0
        /// A failed sync has dropped it from what later syncs write.
        var isAbandoned = false
        /// Durable, but kept in its place behind a change that is not.
        var isSynchronized = false
    }

    struct Node: Sendable {
        var isDirectory = false
        var bytes: [UInt8] = []
        var names: [String: Int] = [:]
        var durableBytes: [UInt8] = []
        var durableNames: [String: Int] = [:]
        var pending: [Pending] = []
        var modified: Int64 = 0
    }

    package struct State: Sendable {
        var nodes: [Int: Node] = [0: Node(isDirectory: true)]
        var nextNode = 1
        var clock: Int64 = 1
        var locks: [Int: Int] = [:]
        var nextHandle = 1
        var counts: [StaticCallName: Int] = [:]
        package var calls: [String] = []
        /// Room for bytes in all files, when limited.
        var room: Int?
        var isReadOnly = false
        var random: UInt64 = 0x9E37_79B9_7F4A_7C15
        var plan: (@Sendable (StaticCallName, Int, String) -> Fault?)?
        var observer: (@Sendable (State, String) -> Void)?
    }

    private let state: Mutex<State>

    package init(_ state: State = State()) {
        self.state = Mutex(state)
    }

    package var snapshot: State { state.withLock { $0 } }

    /// How often a call was made.
    package func count(of call: StaticCallName) -> Int { state.withLock { $0.counts[call, default: 0] } }

    /// Decides, for each call with its number of occurrence from 0 on, whether it fails.
    package func plan(_ plan: (@Sendable (StaticCallName, Int, String) -> Fault?)?) {
        state.withLock {
            $0.plan = plan
            $0.counts = [:]
        }
    }

    /// Sees the state after each call that changed something.
    package func observe(_ observer: (@Sendable (State, String) -> Void)?) {
        state.withLock { $0.observer = observer }
    }

    package func limitRoom(to byteCount: Int?) { state.withLock { $0.room = byteCount } }

    package func makeReadOnly(_ isReadOnly: Bool) { state.withLock { $0.isReadOnly = isReadOnly } }

    /// All bytes of all files.
    package var usedByteCount: Int { state.withLock { $0.usedByteCount } }

    package var highestHandleCount: Int { highestHandles.withLock { $0 } }
    private let openHandles = Mutex(0)
    private let highestHandles = Mutex(0)

    /// Does a call, unless it is planned to fail; the observer sees the state afterwards.
    fileprivate func perform<Value>(
        _ call: StaticCallName, _ path: String, changes: Bool = false,
        _ body: (inout State, Fault?) throws(SystemError) -> Value
    ) throws(SystemError) -> Value {
        var seen: (@Sendable (State, String) -> Void, State)?
        let result = state.withLock { state -> Result<Value, SystemError> in
            let occurrence = state.counts[call, default: 0]
            state.counts[call] = occurrence + 1
            state.calls.append("\(call.rawValue) \(path)")
            let fault = state.plan?(call, occurrence, path)
            if case .failure(let number) = fault, call != .fsync, call != .fdatasync {
                return .failure(SystemError(call, number))
            }
            if changes, state.isReadOnly { return .failure(SystemError(call, ErrorNumber.readOnly)) }
            do throws(SystemError) {
                let value = try body(&state, fault)
                if changes, let observer = state.observer { seen = (observer, state) }
                return .success(value)
            } catch {
                return .failure(error)
            }
        }
        if let seen { seen.0(seen.1, "\(call.rawValue) \(path)") }
        return try result.get()
    }

    // MARK: FileLayer

    package func open(_ path: String, _ mode: FileOpening) throws(SystemError) -> any OpenFile {
        let creates: Bool
        switch mode {
        case .creating, .writingOrCreating: creates = true
        default: creates = false
        }
        let (node, handle) = try perform(.open, path, changes: creates) {
            (state, _) throws(SystemError) -> (Int, Int) in
            if mode == .writing, state.isReadOnly { throw SystemError(.open, ErrorNumber.readOnly) }
            let handle = state.nextHandle
            state.nextHandle += 1
            if let node = state.find(path) {
                if mode == .creating { throw SystemError(.open, ErrorNumber.exists) }
                return (node, handle)
            }
            guard creates else { throw SystemError(.open, ErrorNumber.notFound) }
            let (parent, name) = try state.place(path, .open)
            let node = state.nextNode
            state.nextNode += 1
            state.nodes[node] = Node()
            state.change(parent, .link(name, node))
            return (node, handle)
        }
        openHandles.withLock { $0 += 1 }
        let open = openHandles.withLock { $0 }
        highestHandles.withLock { $0 = max($0, open) }
        return SimulatedFile(self, node: node, handle: handle, path: path)
    }

    package func rename(_ path: String, to newPath: String) throws(SystemError) {
        try perform(.rename, newPath, changes: true) { (state, _) throws(SystemError) in
            guard state.find(path) != nil else { throw SystemError(.rename, ErrorNumber.notFound) }
            let (parent, name) = try state.place(path, .rename)
            let (newParent, newName) = try state.place(newPath, .rename)
            precondition(parent == newParent, "the log renames within a directory alone")
            state.change(parent, .rename(name, newName))
        }
    }

    package func unlink(_ path: String) throws(SystemError) {
        try perform(.unlink, path, changes: true) { (state, _) throws(SystemError) in
            guard state.find(path) != nil else { throw SystemError(.unlink, ErrorNumber.notFound) }
            let (parent, name) = try state.place(path, .unlink)
            state.change(parent, .unlink(name))
        }
    }

    package func makeDirectory(_ path: String) throws(SystemError) {
        try perform(.mkdir, path, changes: true) { (state, _) throws(SystemError) in
            guard state.find(path) == nil else { throw SystemError(.mkdir, ErrorNumber.exists) }
            let (parent, name) = try state.place(path, .mkdir)
            let node = state.nextNode
            state.nextNode += 1
            state.nodes[node] = Node(isDirectory: true)
            state.change(parent, .link(name, node))
        }
    }

    package func removeDirectory(_ path: String) throws(SystemError) {
        try perform(.rmdir, path, changes: true) { (state, _) throws(SystemError) in
            guard let node = state.find(path) else { throw SystemError(.rmdir, ErrorNumber.notFound) }
            guard state.nodes[node]?.names.isEmpty == true else {
                throw SystemError(.rmdir, ErrorNumber.notEmpty)
            }
            let (parent, name) = try state.place(path, .rmdir)
            state.change(parent, .unlink(name))
        }
    }

    package func names(in path: String) throws(SystemError) -> [String] {
        try perform(.readdir, path) { (state, _) throws(SystemError) in
            guard let node = state.find(path), let names = state.nodes[node]?.names else {
                throw SystemError(.readdir, ErrorNumber.notFound)
            }
            return Array(names.keys)
        }
    }

    package func status(of path: String) throws(SystemError) -> FileStatus {
        try perform(.stat, path) { (state, _) throws(SystemError) in
            guard let node = state.find(path) else { throw SystemError(.stat, ErrorNumber.notFound) }
            return state.status(node)
        }
    }

    package func availableByteCount(at path: String) throws(SystemError) -> Int {
        try perform(.statvfs, path) { (state, _) throws(SystemError) in
            state.room.map { max(0, $0 - state.usedByteCount) } ?? .max
        }
    }

    package func randomWord() throws(SystemError) -> UInt64 {
        try perform(.getrandom, "") { (state, _) throws(SystemError) in
            state.random = state.random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state.random
        }
    }

    // MARK: For tests

    /// Makes a file with bytes that are durable already.
    package func put(_ bytes: [UInt8], at path: String) {
        state.withLock { state in
            guard let (parent, name) = try? state.place(path, .open) else { return }
            let node = state.find(path) ?? state.nextNode
            if node == state.nextNode { state.nextNode += 1 }
            state.nodes[node] = Node(bytes: bytes, durableBytes: bytes)
            state.nodes[parent]?.names[name] = node
            state.nodes[parent]?.durableNames[name] = node
            state.clock += 1
            state.nodes[parent]?.modified = state.clock
        }
    }

    /// A file's bytes; nil when it is not there.
    package func bytes(at path: String) -> [UInt8]? {
        state.withLock { state in state.find(path).flatMap { state.nodes[$0]?.bytes } }
    }

    /// The same content in a layer of its own, nobody holding anything.
    package func copy() -> SimulatedFileLayer {
        SimulatedFileLayer(snapshot.withoutProcess())
    }

    fileprivate func closed(_ handle: Int) {
        state.withLock { state in
            for (node, holder) in state.locks where holder == handle { state.locks[node] = nil }
        }
        openHandles.withLock { $0 -= 1 }
    }
}

extension SimulatedFileLayer.State {
    var usedByteCount: Int {
        var used = 0
        var seen: Set<Int> = []
        for node in nodes.values {
            for child in node.names.values where seen.insert(child).inserted {
                used += nodes[child]?.bytes.count ?? 0
            }
        }
        return used
    }

    func find(_ path: String) -> Int? {
        var node = 0
        for part in path.split(separator: "/") {
            guard let next = nodes[node]?.names[String(part)] else { return nil }
            node = next
        }
        return node
    }

    func place(_ path: String, _ call: StaticCallName) throws(SystemError) -> (Int, String) {
        let parts = path.split(separator: "/")
        guard let last = parts.last else { throw SystemError(call, ErrorNumber.isDirectory) }
        guard let parent = find(parts.dropLast().joined(separator: "/")), nodes[parent]?.isDirectory == true
        else { throw SystemError(call, ErrorNumber.notFound) }
        return (parent, String(last))
    }

    func status(_ node: Int) -> FileStatus {
        FileStatus(
            byteCount: nodes[node]?.bytes.count ?? 0, isDirectory: nodes[node]?.isDirectory ?? false,
            device: 1, inode: UInt64(node), modified: nodes[node]?.modified ?? 0)
    }

    mutating func change(_ node: Int, _ change: SimulatedFileLayer.Change) {
        clock += 1
        nodes[node]?.modified = clock
        nodes[node]?.pending.append(SimulatedFileLayer.Pending(change: change, number: clock))
        nodes[node]?.apply(change)
    }

    /// As after the end of the one process: what is not durable stays not durable.
    package func afterProcessEnd() -> SimulatedFileLayer.State { withoutProcess() }

    /// As after a start of the machine: the same files, no handles, locks or plans.
    func withoutProcess() -> SimulatedFileLayer.State {
        var state = self
        state.locks = [:]
        state.counts = [:]
        state.calls = []
        state.plan = nil
        state.observer = nil
        return state
    }
}

extension SimulatedFileLayer.Node {
    mutating func apply(_ change: SimulatedFileLayer.Change) {
        switch change {
        case .write(let byteOffset, let new):
            if bytes.count < byteOffset + new.count {
                bytes += [UInt8](repeating: 0, count: byteOffset + new.count - bytes.count)
            }
            bytes.replaceSubrange(byteOffset..<byteOffset + new.count, with: new)
        case .truncate(let byteCount):
            if byteCount < bytes.count {
                bytes.removeLast(bytes.count - byteCount)
            } else {
                bytes += [UInt8](repeating: 0, count: byteCount - bytes.count)
            }
        case .link(let name, let node): names[name] = node
        case .unlink(let name): names[name] = nil
        case .rename(let old, let new):
            guard let node = names[old] else { return }
            names[old] = nil
            names[new] = node
        }
    }

    /// Makes durable what a sync writes.
    mutating func synchronize() {
        guard pending.contains(where: \.isAbandoned) else {
            durableBytes = bytes
            durableNames = names
            pending = []
            return
        }
        // What a failed sync dropped is not written by a later one; what was written over it since is.
        for index in pending.indices where !pending[index].isAbandoned {
            pending[index].isSynchronized = true
        }
    }
}

/// An open file of the simulated system.
final class SimulatedFile: OpenFile {
    private let layer: SimulatedFileLayer
    private let node: Int
    private let handle: Int
    private let path: String

    init(_ layer: SimulatedFileLayer, node: Int, handle: Int, path: String) {
        self.layer = layer
        self.node = node
        self.handle = handle
        self.path = path
    }

    deinit { layer.closed(handle) }

    func read(into buffer: inout MutableSpan<UInt8>, _ range: Range<Int>, at byteOffset: Int)
        throws(SystemError) -> Int
    {
        let node = node
        let bytes = try layer.perform(.pread, path) { (state, fault) throws(SystemError) -> [UInt8] in
            let bytes = state.nodes[node]?.bytes ?? []
            guard byteOffset < bytes.count else { return [] }
            var count = min(range.count, bytes.count - byteOffset)
            if fault == .short { count = max(1, count / 2) }
            return Array(bytes[byteOffset..<byteOffset + count])
        }
        unsafe buffer.withUnsafeMutableBytes { buffer in
            unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[range]).copyBytes(from: bytes)
        }
        return bytes.count
    }

    func write(_ bytes: Span<UInt8>, at byteOffset: Int) throws(SystemError) -> Int {
        let copy = unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }
        let node = node
        return try layer.perform(.pwrite, path, changes: true) { (state, fault) throws(SystemError) -> Int in
            var part = copy
            var failure: Int32?
            switch fault {
            case .short: part = Array(copy.prefix(max(1, copy.count / 2)))
            case .tornFailure(let number):
                part = Array(copy.prefix(copy.count / 2))
                failure = number
            default: break
            }
            if let room = state.room {
                let size = state.nodes[node]?.bytes.count ?? 0
                let growth = max(0, byteOffset + part.count - size)
                let free = max(0, room - state.usedByteCount)
                if growth > free {
                    part = Array(part.prefix(part.count - (growth - free)))
                    if part.isEmpty { throw SystemError(.pwrite, ErrorNumber.noSpace) }
                }
            }
            if !part.isEmpty { state.change(node, .write(byteOffset, part)) }
            if let failure { throw SystemError(.pwrite, failure) }
            return part.count
        }
    }

    func synchronizeData() throws(SystemError) { try synchronize(.fdatasync) }

    func synchronize() throws(SystemError) { try synchronize(.fsync) }

    private func synchronize(_ call: StaticCallName) throws(SystemError) {
        let node = node
        try layer.perform(call, path, changes: true) { (state, fault) throws(SystemError) in
            if case .failure(let number) = fault {
                // Of names this is not so: they go through the journal, which either goes on or stops for good.
                if number != ErrorNumber.interrupted, state.nodes[node]?.isDirectory == false {
                    for index in state.nodes[node]?.pending.indices ?? 0..<0
                    where state.nodes[node]?.pending[index].isSynchronized == false {
                        state.nodes[node]?.pending[index].isAbandoned = true
                    }
                }
                throw SystemError(call, number)
            }
            state.nodes[node]?.synchronize()
        }
    }

    func truncate(to byteCount: Int) throws(SystemError) {
        let node = node
        try layer.perform(.ftruncate, path, changes: true) { (state, _) throws(SystemError) in
            state.change(node, .truncate(byteCount))
        }
    }

    func allocate(from byteOffset: Int, byteCount: Int) throws(SystemError) {
        let node = node
        try layer.perform(.fallocate, path, changes: true) { (state, _) throws(SystemError) in
            let size = state.nodes[node]?.bytes.count ?? 0
            let growth = max(0, byteOffset + byteCount - size)
            if let room = state.room, growth > max(0, room - state.usedByteCount) {
                throw SystemError(.fallocate, ErrorNumber.noSpace)
            }
            if growth > 0 { state.change(node, .truncate(byteOffset + byteCount)) }
        }
    }

    func status() throws(SystemError) -> FileStatus {
        let node = node
        return try layer.perform(.fstat, path) { (state, _) throws(SystemError) in state.status(node) }
    }

    func tryLock() throws(SystemError) -> Bool {
        let (node, handle) = (node, handle)
        return try layer.perform(.flock, path) { (state, _) throws(SystemError) in
            if let holder = state.locks[node], holder != handle { return false }
            state.locks[node] = handle
            return true
        }
    }

    func map(_ mapping: FileMapping) throws(SystemError) -> MappedBytes {
        let bytes = try bytes(at: 0, count: try status().byteCount)
        let base = UnsafeMutableRawPointer.allocate(byteCount: max(1, bytes.count), alignment: 4096)
        for (index, byte) in bytes.enumerated() {
            unsafe base.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
        }
        return unsafe MappedBytes(base: base, count: bytes.count) { base, _ in unsafe base.deallocate() }
    }
}
