import Foundation
import HKLogFormat
import HKLogTestSupport
import Testing

@testable import HKLog

/// A folder of its own that goes away at the end.
final class TemporaryFolder {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "hklog-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path(percentEncoded: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

@Suite struct SystemFilesTests {
    let layer = SystemFiles()

    @Test func `files and folders are for their owner alone`() throws {
        let folder = try TemporaryFolder()
        let store = "\(folder.path)/store"
        try layer.makeDirectory(store)
        let file = try layer.open("\(store)/a", .creating)
        try file.writeFully([1, 2, 3].span, at: 0)
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(store)/a")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let folderAttributes = try FileManager.default.attributesOfItem(atPath: store)
        #expect(folderAttributes[.posixPermissions] as? Int == 0o700)
        #expect(throws: SystemError(.open, ErrorNumber.exists)) { try layer.open("\(store)/a", .creating) }
        #expect(throws: SystemError(.open, ErrorNumber.notFound)) { try layer.open("\(store)/b", .reading) }
        // A link is not followed where one writes.
        try FileManager.default.createSymbolicLink(atPath: "\(store)/link", withDestinationPath: "\(store)/a")
        #expect(throws: SystemError.self) { try layer.open("\(store)/link", .writingOrCreating) }
        #expect(try layer.names(in: store).sorted() == ["a", "link"])
    }

    @Test func `bytes are read, written, cut, allocated and mapped`() throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/a"
        let file = try layer.open(path, .writingOrCreating)
        #expect(try file.map(.readOnly).count == 0)
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try file.writeFully(bytes.span, at: 10)
        #expect(try file.status().byteCount == 100_010)
        #expect(try file.bytes(at: 10, count: 200_000) == bytes)
        #expect(try file.bytes(at: 100_010, count: 5) == [])
        try file.truncate(to: 20)
        try file.allocate(from: 20, byteCount: 1000)
        #expect(
            try file.bytes(at: 15, count: 2000) == Array(bytes[5..<10]) + [UInt8](repeating: 0, count: 1000))
        try file.synchronizeDataFully()
        try file.synchronizeFully()
        try layer.synchronizeDirectory(folder.path)
        let map = try file.map(.privateCopy)
        unsafe map.base.storeBytes(of: 9, toByteOffset: 15, as: UInt8.self)
        #expect(unsafe Array(map.buffer[15..<17]) == [9, bytes[6]])
        #expect(try file.bytes(at: 15, count: 1) == [bytes[5]])
        let reader = try layer.open(path, .reading)
        #expect(throws: SystemError.self) { try reader.writeFully([1].span, at: 0) }
        // A file opened for reading can be synced.
        try reader.synchronizeDataFully()
        try layer.rename(path, to: "\(folder.path)/b")
        #expect(try layer.exists("\(folder.path)/b"))
        try layer.unlink("\(folder.path)/b")
        try layer.unlinkIfThere("\(folder.path)/b")
        #expect(try layer.availableByteCount(at: folder.path) > 0)
    }

    @Test func `a lock holds against another opening of the file, and ends with the file`() throws {
        let folder = try TemporaryFolder()
        var first: (any OpenFile)? = try layer.open(folder.path, .directory)
        #expect(try first?.tryLock() == true)
        let second = try layer.open(folder.path, .directory)
        #expect(try second.tryLock() == false)
        first = nil
        #expect(try second.tryLock())
    }

    @Test func `a store works on the real file system`() throws {
        let folder = try TemporaryFolder()
        let files = LogFiles(layer: layer, store: "\(folder.path)/store/")
        let id = SyntheticLog.storeID
        let manifest = StoreManifest(storeID: id, created: "2026-03-01T00:00:00Z", segmentByteCount: 5000)
        try files.createStore(manifest)
        #expect(throws: HKLogError.self) { try files.createStore(manifest) }
        let writer = try LogWriter(files, storeID: id, segmentByteCount: 5000)
        let refused = #expect(throws: HKLogError.self) {
            try LogWriter(
                LogFiles(
                    layer: layer,
                    store: "\(folder.path)/../\((folder.path as NSString).lastPathComponent)/store"),
                storeID: id, segmentByteCount: 5000)
        }
        #expect(
            refused?.code == .locked && refused?.message.contains("process \(Platform.processID)") == true)
        // The kernel's list names the holder when the lock file cannot.
        try layer.unlink("\(folder.path)/store/lock")
        let again = #expect(throws: HKLogError.self) {
            try LogWriter(files, storeID: id, segmentByteCount: 5000)
        }
        #expect(again?.code == .locked)
        for _ in 0..<100 {
            let frame = SyntheticLog.frame(at: writer.nextAnchor, previousNonce: writer.lastNonce)
            try writer.append(frame.span, syncing: true)
        }
        var transform = MergingTransform()
        try writer.rewrite(&transform)
        try writer.close()
        #expect(try files.readManifest() == manifest)
        let report = try files.verify(storeID: id) { _, _ throws(HKLogError) in true }
        #expect(report.isSound && report.endAnchor == 100)
        #expect(try SyntheticLog.drain(try LogReader(files, storeID: id, from: 50)).end == 100)
        let target = LogFiles(layer: layer, store: "\(folder.path)/copy")
        #expect(try files.backup(to: target, manifest: manifest) == 100)
        let end = try files.repair { _ throws(HKLogError) in manifest }.endAnchor
        #expect(end == 100)
    }

    @Test func `errors say what, where and why`() throws {
        let error = HKLogError.system(SystemError(.pwrite, ErrorNumber.noSpace), "append", path: "/s/log/1")
        #expect(error.message == "/s/log/1: cannot append: No space left on device; make room and try again")
        #expect(error.code.exitStatus == 74)
        let missing = HKLogError.system(SystemError(.open, ErrorNumber.notFound), "open", path: "/s")
        #expect(missing.code == .notFound)
    }

    @Test func `clocks and random words move`() throws {
        #expect(Platform.wallClockMicroseconds > 1_600_000_000_000_000)
        let start = Platform.monotonicNanoseconds
        Platform.sleep(milliseconds: 2)
        #expect(Platform.monotonicNanoseconds > start)
        #expect(try layer.randomWord() != layer.randomWord())
    }
}
