/// Why bytes are no frame, or why content cannot become one.
///
/// Trivial on purpose: it is thrown on hot paths, and the caller knows the file and the offset.
package enum CodecError: UInt8, Error, Equatable, Sendable {
    /// The stored bytes are not those that the header's checksum was made over.
    case checksumMismatch
    /// There are fewer (or more) bytes than the header names.
    case wrongByteCount
    /// The compressed part does not unpack to what the header names.
    case badCompression
    /// The checksum fits, but the bytes do not follow the format.
    case malformed
    /// The content is larger than a frame may be.
    case tooLarge
    /// The content's columns contradict each other: a mistake of the caller.
    case inconsistentContent

    /// One phrase for an error message.
    package var reason: String {
        switch self {
        case .checksumMismatch: "the checksum does not match the bytes"
        case .wrongByteCount: "the frame is cut short"
        case .badCompression: "the compressed part does not unpack"
        case .malformed: "the bytes do not follow the format"
        case .tooLarge: "the content is too large for one frame"
        case .inconsistentContent: "the content's columns do not fit together"
        }
    }
}
