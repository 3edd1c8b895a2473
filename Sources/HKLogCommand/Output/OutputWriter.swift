internal import HKLog

/// Standard output or a file with a buffer of its own.
final class OutputWriter {
    /// For messages.
    let name: String
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private static let byteCountLimit = 1 << 16

    init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
    }

    /// Adds text; writes when enough has come together.
    func write(_ text: String) throws(HKLogError) {
        buffer.append(contentsOf: text.utf8)
        if buffer.count >= Self.byteCountLimit { try flush() }
    }

    /// Adds bytes; writes when enough has come together.
    func write(_ bytes: [UInt8]) throws(HKLogError) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.byteCountLimit { try flush() }
    }

    /// Adds bytes; writes when enough has come together.
    func write(_ bytes: Span<UInt8>) throws(HKLogError) {
        for index in bytes.indices { buffer.append(bytes[index]) }
        if buffer.count >= Self.byteCountLimit { try flush() }
    }

    /// Hands everything to the operating system.
    func flush() throws(HKLogError) {
        guard !buffer.isEmpty else { return }
        let bytes = buffer
        // Emptied first: after an error nothing is written a second time.
        buffer.removeAll(keepingCapacity: true)
        try System.write(descriptor, bytes, name: name)
    }
}
