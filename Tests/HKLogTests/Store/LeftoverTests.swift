import HKLogTestSupport
import Synchronization
import Testing

@testable import HKLog

/// What a killed process leaves beside the store's own files goes with the next writer.
struct LeftoverTests {
    private func strangers(_ layer: SimulatedFileLayer) -> [String] {
        ["", "/log", "/views"].flatMap { folder in
            ((try? layer.names(in: StoreRehearsal.path + folder)) ?? []).filter { name in
                name.contains(".tmp") || name.contains(".new-") || name == LogFiles.switchName
                    || name == LogFiles.unfinishedCopyName
            }
        }
    }

    /// Runs a command, ends the process after each of its calls in turn, and opens for writing.
    private func check(
        _ whole: SimulatedFileLayer, _ command: (SimulatedFileLayer) throws -> Void
    ) throws -> Int {
        let calls = SharedStates()
        let observed = whole.copy()
        observed.observe { state, _ in calls.append(state.afterProcessEnd()) }
        try command(observed)
        observed.observe(nil)
        var leftovers = 0
        for state in calls.all {
            let layer = SimulatedFileLayer(state)
            if !strangers(layer).isEmpty { leftovers += 1 }
            let reader = try StoreRehearsal.open(layer, .read)
            let end = try reader.info().logAnchor
            try reader.close()
            let writer = try StoreRehearsal.open(layer)
            #expect(strangers(layer) == [])
            #expect(try writer.info().logAnchor == end)
            try StoreRehearsal.requireReplayAgrees(writer)
            try writer.close()
        }
        return leftovers
    }

    @Test func `nothing stays of a change of settings, a checkpoint or a compaction that was killed`() throws
    {
        let whole = try StoreDamage.filled(withCheckpoint: false)
        let settings = try check(whole) { layer in
            let store = try StoreRehearsal.open(layer)
            try store.set(timeZone: "Asia/Kathmandu")
            try store.close()
        }
        #expect(settings > 0)
        let checkpoint = try check(whole) { layer in
            let store = try StoreRehearsal.open(layer)
            try store.append(StoreRehearsal.batch(StoreDamage.count))
            try store.checkpoint()
            try store.close()
        }
        #expect(checkpoint > 0)
        let compaction = try check(try StoreDamage.filled(withCheckpoint: true)) { layer in
            let store = try StoreRehearsal.open(layer)
            _ = try store.compact()
            try store.close()
        }
        #expect(compaction > 0)
    }

    @Test func `nothing stays of a repair that was killed`() throws {
        let whole = try StoreDamage.filled(withCheckpoint: true)
        let name = try #require(StoreDamage.segments(of: whole).first)
        var bytes = try #require(whole.bytes(at: "\(StoreRehearsal.path)/log/\(name)"))
        bytes[200] ^= 1
        whole.put(bytes, at: "\(StoreRehearsal.path)/log/\(name)")
        var manifest = try #require(whole.bytes(at: "\(StoreRehearsal.path)/store.json"))
        manifest[30] ^= 1
        whole.put(manifest, at: "\(StoreRehearsal.path)/store.json")
        let calls = SharedStates()
        let observed = whole.copy()
        observed.observe { state, _ in calls.append(state.afterProcessEnd()) }
        _ = try Store.repair(LogFiles(layer: observed, store: StoreRehearsal.path))
        observed.observe(nil)
        var leftovers = 0
        for state in calls.all {
            let layer = SimulatedFileLayer(state)
            if !strangers(layer).isEmpty { leftovers += 1 }
            _ = try Store.repair(LogFiles(layer: layer, store: StoreRehearsal.path))
            let writer = try StoreRehearsal.open(layer)
            try StoreRehearsal.requireReplayAgrees(writer)
            try writer.close()
            #expect(strangers(layer) == [])
        }
        #expect(leftovers > 0)
    }

    @Test func `a backup that was killed is no store, and is made anew over what is left`() throws {
        let layer = try StoreDamage.filled(withCheckpoint: false)
        let store = try StoreRehearsal.open(layer, .read)
        let digest = try store.info().digest
        let calls = SharedStates()
        layer.observe { state, _ in calls.append(state.afterProcessEnd()) }
        try store.backup(to: "/copy")
        layer.observe(nil)
        var broken = 0
        var whole = 0
        for state in calls.all {
            let after = SimulatedFileLayer(state)
            let copy = LogFiles(layer: after, store: "/copy")
            let again = try StoreRehearsal.open(after, .read)
            if (try? after.exists("/copy/store.json")) == true {
                whole += 1
                let error = #expect(throws: HKLogError.self) { try again.backup(to: "/copy") }
                #expect(error?.code == .cannotCreate)
            } else {
                broken += 1
                for access in [StoreAccess.read, .writeOrCreate(StoreOptions())]
                where (try? after.exists("/copy/\(LogFiles.unfinishedCopyName)")) == true {
                    let error = #expect(throws: HKLogError.self) {
                        try Store.open(at: "/copy", access: access, layer: after)
                    }
                    #expect(error?.code == .notFound)
                }
                let error = #expect(throws: HKLogError.self) { try Store.repair(copy) }
                #expect(error?.code == .notFound)
                try again.backup(to: "/copy")
            }
            let opened = try Store.open(at: "/copy", access: .write, layer: after)
            #expect(try opened.info().digest == digest)
            try opened.close()
            #expect(try after.names(in: "/copy").contains(LogFiles.unfinishedCopyName) == false)
            #expect(try Store.verify(copy, secondLookAfter: 0).sound)
        }
        #expect(broken > 3 && whole > 0)
        // Something else in the folder is not ours to remove.
        let other = layer.copy()
        try other.makeDirectory("/other")
        other.put([], at: "/other/\(LogFiles.unfinishedCopyName)")
        other.put([1], at: "/other/photo.jpg")
        let error = #expect(throws: HKLogError.self) {
            try StoreRehearsal.open(other, .read).backup(to: "/other")
        }
        #expect(error?.code == .cannotCreate)
        #expect(other.bytes(at: "/other/photo.jpg") == [1])
    }
}

/// The states of a file system after each call, as an observer sees them.
private final class SharedStates: Sendable {
    private let states = Mutex<[SimulatedFileLayer.State]>([])

    func append(_ state: SimulatedFileLayer.State) { states.withLock { $0.append(state) } }

    var all: [SimulatedFileLayer.State] { states.withLock { $0 } }
}
