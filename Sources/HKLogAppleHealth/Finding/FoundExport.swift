package import HKLog

/// An export that was found: its document and what lies beside it.
package final class FoundExport {
    /// What the document is called in messages.
    let name: String
    /// How many bytes the document has; 0 when that is not known.
    let byteCount: Int
    /// The files beside it; `nil` for a bare document, which cannot have any.
    let sideFiles: (any SideFiles)?
    private let opener: () throws(HKLogError) -> any ByteSource

    init(
        name: String, byteCount: Int, sideFiles: (any SideFiles)?,
        opener: @escaping () throws(HKLogError) -> any ByteSource
    ) {
        self.name = name
        self.byteCount = byteCount
        self.sideFiles = sideFiles
        self.opener = opener
    }

    /// The document's bytes from the beginning.
    func open() throws(HKLogError) -> any ByteSource {
        try opener()
    }

    // MARK: - Finding

    /// Finds the export at a path: a zip, a document or a folder, told apart by what is in it.
    ///
    /// - Throws: `notFound` when there is nothing at the path, with a hint where the file is still in iCloud Drive;
    ///   `invalidData` when it is no export: the message names what was found instead.
    package static func find(at path: String) throws(HKLogError) -> FoundExport {
        switch InputFile.kind(of: path) {
        case .missing: throw missing(path)
        case .folder: return try findInFolder(path)
        case .other: throw HKLogError(.invalidData, "\(path): neither a file nor a folder")
        case .file: break
        }
        let head = try head(of: try InputFile(path: path))
        if isZip(head) { return try findInZip(path) }
        let file = try InputFile(path: path)
        let byteCount = file.byteCount
        switch try sniff(file) {
        case .export:
            return FoundExport(name: path, byteCount: byteCount, sideFiles: nil) { () throws(HKLogError) in
                try InputFile(path: path)
            }
        case .other(let what):
            throw HKLogError(
                .invalidData,
                "\(path): no Apple Health export: \(what); give export.zip, the XML in it, or the unpacked folder"
            )
        }
    }

    private static func missing(_ path: String) -> HKLogError {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { String(path[...$0]) } ?? ""
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        if InputFile.kind(of: "\(folder).\(name).icloud") != .missing {
            return HKLogError(
                .notFound, "\(path): it is still in iCloud Drive and not on this machine; download it first")
        }
        return HKLogError(.notFound, "\(path): no such file or folder")
    }

    private static func isZip(_ head: [UInt8]) -> Bool {
        head.starts(with: [0x50, 0x4B, 0x03, 0x04]) || head.starts(with: [0x50, 0x4B, 0x05, 0x06])
            || head.starts(with: [0x50, 0x4B, 0x06, 0x06]) || head.starts(with: [0x50, 0x4B, 0x07, 0x08])
    }

    private static func head(of source: any ByteSource) throws(HKLogError) -> [UInt8] {
        var head = [UInt8](repeating: 0, count: 4)
        var count = 0
        while count < 4 {
            let read = try readBytes(from: source, into: &head, at: count)
            if read == 0 { break }
            count += read
        }
        return Array(head.prefix(count))
    }

    /// What a document's first element says of it.
    private enum Sniffed {
        case export
        /// Something else, in words.
        case other(String)
    }

    private static func sniff(_ source: any ByteSource) throws(HKLogError) -> Sniffed {
        var scanner = ExportScanner(source: source, problems: ProblemLog(), windowByteCount: 1 << 12)
        switch try scanner.readProlog() {
        case .root:
            if scanner.name.equals("HealthData") { return .export }
            if scanner.name.equals("ClinicalDocument") {
                return .other("a clinical document (export_cda.xml), which holds only a part of the data")
            }
            return .other("XML whose first element is '\(printable(Array(scanner.name.bytes.prefix(64))))'")
        case .empty: return .other(source.fault.map { "it cannot be unpacked (\($0))" } ?? "it is empty")
        case .utf16: return .other("it is UTF-16; an export is UTF-8: save it as UTF-8")
        case .noElement:
            return .other(
                source.fault.map { "it cannot be unpacked (\($0))" } ?? "it is no XML with an element")
        }
    }

    /// Whether a path is one that archivers and file systems add.
    private static func isIgnored(_ path: [UInt8]) -> Bool {
        let parts = path.split(separator: UInt8(ascii: "/"))
        guard let last = parts.last else { return true }
        return parts.contains { $0.elementsEqual("__MACOSX".utf8) } || last.starts(with: "._".utf8)
            || last.elementsEqual(".DS_Store".utf8)
    }

    private static func folder(of path: [UInt8]) -> [UInt8] {
        guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return [] }
        return Array(path[...slash])
    }

    /// A sentence's end that names what was found, the first few of it.
    private static func listing(_ names: [[UInt8]]) -> String {
        if names.isEmpty { return "nothing" }
        let shown = names.prefix(5).map { printable(Array($0.suffix(160))) }.joined(separator: ", ")
        return names.count > 5 ? "\(shown) and \(names.count - 5) more" : shown
    }

    // MARK: - Zips

    private static func findInZip(_ path: String) throws(HKLogError) -> FoundExport {
        let archive = try ZipArchive(path: path)
        let entries = archive.entries().filter { !isIgnored($0.name) }
        var found: [ZipArchive.Entry] = []
        var others: [[UInt8]] = []
        var encrypted: [[UInt8]] = []
        for entry in entries {
            if entry.isEncrypted {
                encrypted.append(entry.name)
                continue
            }
            guard let source = try? archive.open(entry) else {
                others.append(entry.name)
                continue
            }
            switch try sniff(source) {
            case .export: found.append(entry)
            case .other(let what): others.append(entry.name + Array(" (\(what))".utf8))
            }
        }
        guard found.count < 2 else {
            throw HKLogError(
                .invalidData,
                "\(path): \(found.count) exports in one zip (\(listing(found.map(\.name)))); import them one by one"
            )
        }
        guard let document = found.first else {
            if !encrypted.isEmpty {
                throw HKLogError(
                    .invalidData,
                    "\(path): protected by a password (\(listing(encrypted))); unpack it and give the folder")
            }
            throw HKLogError(
                .invalidData, "\(path): no Apple Health export in the zip; found \(listing(others))")
        }
        let beside = entries.filter { $0.index != document.index }
            .sorted { $0.name.lexicographicallyPrecedes($1.name) }
        let sideFiles = ZipSideFiles(
            archive: archive, entries: beside, documentFolder: folder(of: document.name))
        return FoundExport(
            name: "\(path): \(printable(document.name))", byteCount: document.byteCount, sideFiles: sideFiles
        ) { () throws(HKLogError) in
            // A handle of its own: the archive's state must not be shared by two threads.
            let own = try ZipArchive(path: path)
            return try ReadAhead(try own.open(document))
        }
    }

    private final class ZipSideFiles: SideFiles {
        let paths: [[UInt8]]
        let documentFolder: [UInt8]
        private let archive: ZipArchive
        private let entries: [ZipArchive.Entry]

        init(archive: ZipArchive, entries: [ZipArchive.Entry], documentFolder: [UInt8]) {
            self.archive = archive
            self.entries = entries
            self.paths = entries.map(\.name)
            self.documentFolder = documentFolder
        }

        func bytes(ofFileAt index: Int) throws(HKLogError) -> [UInt8]? {
            if entries[index].isEncrypted { return nil }
            guard let source = try? archive.open(entries[index]) else { return nil }
            return try wholeBytes(of: source)
        }
    }

    // MARK: - Folders

    /// How deep folders are looked into.
    private static let folderDepthLimit = 16
    /// How many files are looked at.
    private static let fileCountLimit = 200_000

    private static func findInFolder(_ path: String) throws(HKLogError) -> FoundExport {
        let root = path.utf8.last == UInt8(ascii: "/") ? path : path + "/"
        var files: [String] = []
        try list(root, under: "", depth: 0, into: &files)
        var found: [String] = []
        var others: [[UInt8]] = []
        for file in files {
            guard let source = try? InputFile(path: root + file) else { continue }
            let head = try head(of: try InputFile(path: root + file))
            switch try sniff(source) {
            case .export: found.append(file)
            case .other(let what): others.append(Array("\(file) (\(isZip(head) ? "a zip" : what))".utf8))
            }
        }
        guard found.count < 2 else {
            throw HKLogError(
                .invalidData,
                "\(path): \(found.count) exports in one folder (\(listing(found.map { Array($0.utf8) }))); "
                    + "import them one by one")
        }
        guard let document = found.first else {
            throw HKLogError(
                .invalidData,
                "\(path): no Apple Health export in the folder; found \(listing(files.map { Array($0.utf8) }))"
            )
        }
        let folder = folder(of: Array(document.utf8))
        let beside = files.filter { $0 != document && $0.utf8.starts(with: folder) }
        let byteCount = try InputFile(path: root + document).byteCount
        return FoundExport(
            name: root + document, byteCount: byteCount,
            sideFiles: FolderSideFiles(root: root, files: beside, documentFolder: folder)
        ) { () throws(HKLogError) in
            try InputFile(path: root + document)
        }
    }

    private static func list(
        _ root: String, under folder: String, depth: Int, into files: inout [String]
    ) throws(HKLogError) {
        for name in try InputFile.names(inFolder: root + folder) {
            let path = folder + name
            if isIgnored(Array(path.utf8)) { continue }
            // What lies outside is not part of the folder that was given.
            if InputFile.isLink(root + path), !InputFile.isInside(root, link: root + path) { continue }
            switch InputFile.kind(of: root + path) {
            case .file:
                files.append(path)
                guard files.count <= fileCountLimit else {
                    throw HKLogError(
                        .invalidData,
                        "\(root): more than \(fileCountLimit) files; give the export's own folder")
                }
            case .folder:
                // Links to folders may lead in circles.
                if depth < folderDepthLimit, !InputFile.isLink(root + path) {
                    try list(root, under: path + "/", depth: depth + 1, into: &files)
                }
            case .other, .missing:
                break
            }
        }
    }

    private final class FolderSideFiles: SideFiles {
        let paths: [[UInt8]]
        let documentFolder: [UInt8]
        private let root: String
        private let files: [String]

        init(root: String, files: [String], documentFolder: [UInt8]) {
            let sorted = files.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            self.root = root
            self.files = sorted
            self.paths = sorted.map { Array($0.utf8) }
            self.documentFolder = documentFolder
        }

        func bytes(ofFileAt index: Int) throws(HKLogError) -> [UInt8]? {
            guard let file = try? InputFile(path: root + files[index]) else { return nil }
            return try wholeBytes(of: file)
        }
    }

    /// All bytes of a source; `nil` when there are too many or they are damaged.
    private static func wholeBytes(of source: any ByteSource) throws(HKLogError) -> [UInt8]? {
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = try readBytes(from: source, into: &chunk, at: 0)
            if count == 0 { return source.fault == nil ? all : nil }
            guard all.count + count <= sideFileByteCountLimit else { return nil }
            all.append(contentsOf: chunk[..<count])
        }
    }
}
