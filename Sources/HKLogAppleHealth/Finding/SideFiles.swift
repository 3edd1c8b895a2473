internal import HKLog

/// The files that lie beside an export's document, in the order of their paths' bytes.
protocol SideFiles: AnyObject {
    /// Their paths, relative to the folder or archive, with `/` between names.
    var paths: [[UInt8]] { get }

    /// The folder that the document lies in, as a prefix of paths; empty or with `/` at its end.
    var documentFolder: [UInt8] { get }

    /// The whole of one; `nil` when it cannot be read or is larger than `sideFileByteCountLimit`.
    func bytes(ofFileAt index: Int) throws(HKLogError) -> [UInt8]?
}

/// The most bytes that a file beside the document may have.
let sideFileByteCountLimit = 256 << 20

/// Finds the files that a document names by paths such as `/workout-routes/route.gpx`.
///
/// Names are compared by canonical equivalence: archivers and file systems decompose letters with marks.
struct SideFileIndex {
    private let documentFolder: [UInt8]
    private var byBytes: [[UInt8]: Int] = [:]
    private var byPath: [String: Int] = [:]
    /// By the last name; `nil` where several files have it.
    private var byLastName: [String: Int?] = [:]

    init(_ files: any SideFiles) {
        documentFolder = files.documentFolder
        for (index, path) in files.paths.enumerated() {
            if byBytes[path] == nil { byBytes[path] = index }
            let text = String(decoding: path, as: UTF8.self)
            if byPath[text] == nil { byPath[text] = index }
            guard let name = SideFileIndex.lastName(path) else { continue }
            byLastName[name] = byLastName[name] == nil ? .some(index) : .some(nil)
        }
    }

    /// The file of a reference.
    ///
    /// It is looked for beside the document, then, since people pack exports anew, by its last name alone.
    func index(ofReference reference: [UInt8]) -> Int? {
        if let index = exactIndex(ofReference: reference) { return index }
        guard let name = SideFileIndex.lastName(reference) else { return nil }
        return byLastName[name] ?? nil
    }

    /// Whether a reference's file lies where the reference says.
    func isExact(_ reference: [UInt8]) -> Bool { exactIndex(ofReference: reference) != nil }

    private func exactIndex(ofReference reference: [UInt8]) -> Int? {
        let wanted = documentFolder + reference.drop { $0 == UInt8(ascii: "/") }
        return byBytes[wanted] ?? byPath[String(decoding: wanted, as: UTF8.self)]
    }

    private static func lastName(_ path: [UInt8]) -> String? {
        path.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) }
    }
}
