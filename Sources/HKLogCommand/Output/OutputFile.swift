internal import HKLog

/// A file that results are written to.
///
/// Only its owner may read it: it holds health data.
final class OutputFile {
    let writer: OutputWriter
    private let path: String
    private var descriptor: Int32

    init(_ path: String) throws(HKLogError) {
        guard !path.isEmpty else { throw .usage("the name of the file to write is empty") }
        self.path = path
        self.descriptor = try System.openForWriting(path)
        self.writer = OutputWriter(descriptor: descriptor, name: SafeText.line(path))
    }

    /// Writes what is left and closes the file.
    func close() throws(HKLogError) {
        guard descriptor >= 0 else { return }
        let open = descriptor
        descriptor = -1
        do throws(HKLogError) {
            try writer.flush()
        } catch {
            System.close(open)
            throw error
        }
        try System.closeWriting(open, name: path)
    }

    deinit {
        if descriptor >= 0 { System.close(descriptor) }
    }
}
