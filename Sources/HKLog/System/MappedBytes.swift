/// A file's bytes in memory, for as long as this object lives.
///
/// Only for files that nobody cuts: reading a page behind the new end of a shortened file is a signal, not an
/// error. Log segments are read with `pread` instead.
///
/// Sound to send: the base and the count never change, and the memory is given back with the last reference.
@safe
package final class MappedBytes: @unchecked Sendable {
    /// The first byte; one may write to it only in a private mapping.
    package let base: UnsafeMutableRawPointer
    package let count: Int
    private let release: @Sendable (UnsafeMutableRawPointer, Int) -> Void

    /// Takes over `count` bytes at `base` and gives them back through `release`.
    package init(
        base: UnsafeMutableRawPointer, count: Int,
        release: @escaping @Sendable (UnsafeMutableRawPointer, Int) -> Void
    ) {
        unsafe self.base = base
        self.count = count
        unsafe self.release = release
    }

    deinit { unsafe release(base, count) }

    /// The bytes as a buffer; must not outlive this object.
    package var buffer: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }
}
