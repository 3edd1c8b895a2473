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

extension SideFiles {
    /// The file that the document names by a path such as `/workout-routes/route.gpx`.
    ///
    /// It is looked for beside the document, then, since people pack exports anew, by its last name alone.
    func index(ofReference reference: [UInt8]) -> Int? {
        let relative = Array(reference.drop { $0 == UInt8(ascii: "/") })
        let wanted = documentFolder + relative
        if let index = paths.firstIndex(of: wanted) { return index }
        guard let last = relative.split(separator: UInt8(ascii: "/")).last else { return nil }
        let matches = paths.indices.filter { paths[$0].split(separator: UInt8(ascii: "/")).last == last }
        return matches.count == 1 ? matches[0] : nil
    }
}
