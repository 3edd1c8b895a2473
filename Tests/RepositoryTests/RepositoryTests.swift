import Foundation
import Testing

/// Facts about the repository itself, so that documents and layout stay true without anybody's care.
@Suite("The repository") struct RepositoryTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Paths of all files that belong to the project, from the root on.
    private static let paths: [String] = {
        let top = ["Sources", "Tests", "Benchmarks", "tools", "docs"]
        var found = ["Package.swift", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
        for folder in top {
            let walk = FileManager.default.enumerator(atPath: root.appendingPathComponent(folder).path)
            while let path = walk?.nextObject() as? String { found.append("\(folder)/\(path)") }
        }
        return found
    }()

    private static func text(_ path: String) -> String? {
        try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    private static var swiftFiles: [String] { paths.filter { $0.hasSuffix(".swift") } }

    @Test func `no two names differ by case alone`() {
        let grouped = Dictionary(grouping: Self.paths) { $0.lowercased() }
        #expect(grouped.values.filter { $0.count > 1 } == [])
    }

    @Test func `the code holds no leftovers`() {
        // Spelt in parts, so that this file does not find itself.
        let leftovers = ["TO" + "DO", "FIX" + "ME", "fatal" + "Error(", "try" + "!"]
        for path in Self.swiftFiles {
            for word in leftovers { #expect(Self.text(path)?.contains(word) != true, "\(path): \(word)") }
        }
    }

    @Test func `libc is imported in few places`() {
        let importing = Self.swiftFiles.filter { path in
            path.hasPrefix("Sources/HKLog")
                && Self.text(path)?.split(separator: "\n").contains { $0.hasSuffix("import Glibc") } == true
        }
        // The file layer; one file that takes logarithms; the command's terminal; the importer's input.
        let allowed = [
            "Sources/HKLog/System/", "Sources/HKLog/Statistics/", "Sources/HKLogCommand/System/",
            "Sources/HKLogTestSupport/",
            "Sources/HKLogAppleHealth/",
        ]
        #expect(importing.filter { path in !allowed.contains { path.hasPrefix($0) } } == [])
    }

    @Test func `the library and the command do without Foundation`() {
        let importing = Self.swiftFiles.filter { path in
            path.hasPrefix("Sources/") && !path.hasPrefix("Sources/HKLogTestSupport/")
                && Self.text(path)?.split(separator: "\n").contains { $0.hasSuffix("import Foundation") }
                    == true
        }
        #expect(importing == [])
    }

    @Test func `tests that the invariants name are there`() throws {
        let invariants = try #require(Self.text("docs/invariants.md"))
        let tests = Self.swiftFiles.filter { $0.hasPrefix("Tests/") }.compactMap(Self.text).joined()
        let folders = Set(Self.paths)
        var named = 0
        for part in invariants.split(separator: "`").enumerated() where part.offset % 2 == 1 {
            let name = String(part.element)
            guard name.hasSuffix("Tests") || name.contains(" ") else { continue }
            named += 1
            #expect(tests.contains(name) || folders.contains("Tests/\(name)"), "\(name)")
        }
        #expect(named > 8)
    }

    @Test func `tests that the page on durability names are there`() throws {
        let page = try #require(Self.text("docs/durability.md"))
        let names = Self.swiftFiles.filter { $0.hasPrefix("Tests/") }.compactMap(Self.text).flatMap { text in
            text.components(separatedBy: "func `").dropFirst().map { $0.prefix { $0 != "`" } }
        }
        let commands = ["HKLOG_", "swift ", "tools/", "hklog ", "append ", "ulimit ", "LAYER_"]
        var named = 0
        for part in page.split(separator: "`").enumerated() where part.offset % 2 == 1 {
            var name = String(part.element)
            guard name.contains(" "), !name.contains("\n"), !commands.contains(where: name.hasPrefix) else {
                continue
            }
            // A name may be shortened to its beginning.
            while name.hasSuffix("…") || name.hasSuffix(" ") || name.hasSuffix(",") { name.removeLast() }
            named += 1
            #expect(names.contains { $0.hasPrefix(name) }, "\(name)")
        }
        #expect(named > 50)
    }

    @Test func `the clock on the wall is asked for when a store is made, and for nothing else`() {
        let asking = Self.swiftFiles.filter {
            $0.hasPrefix("Sources/HKLog/") && Self.text($0)?.contains("wallClock" + "Microseconds") == true
        }
        #expect(
            asking.sorted() == [
                "Sources/HKLog/Store/Store+Maintenance.swift", "Sources/HKLog/Store/StoreCore.swift",
                "Sources/HKLog/System/Platform.swift",
            ])
    }

    @Test func `documents link to files that are there`() throws {
        for path in Self.paths where path.hasSuffix(".md") {
            let text = try #require(Self.text(path))
            for match in text.matches(of: #/`((?:docs|tools|Sources|Tests|Benchmarks)/[A-Za-z0-9_./+-]+)`/#) {
                let named = String(match.1)
                #expect(
                    FileManager.default.fileExists(atPath: Self.root.appendingPathComponent(named).path),
                    "\(path) names \(named)")
            }
        }
    }
}
