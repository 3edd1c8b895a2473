/// The form of a column of signed 64-bit integers.
///
/// See `docs/format.md`, "Integer columns".
///
///     control <u8> | [options <u8>] | base <signed varint> | [stride <varint>] | [bitmap] | low bits
///         | [unary byte count <varint> | unary bits] | [exceptions]
///
/// A column of no values has no bytes, and a constant one is `00` and its value.
enum ColumnFormat {
    /// Bits 0 to 5 of the control byte: how many low bits of each value are packed.
    static let widthMask: UInt8 = 0x3F
    /// The widest packing: a value at any bit offset is within one load of eight bytes.
    static let widthLimit = 56
    /// The width that says: eight planes of bytes, lowest byte first, in place of packed bits.
    static let planes: UInt8 = 63
    /// What stands above the low bits follows in unary.
    static let hasHighs: UInt8 = 1 << 6
    /// The options byte follows.
    static let hasOptions: UInt8 = 1 << 7

    /// Each value is multiplied by the stride that follows.
    static let optionStride: UInt8 = 1 << 0
    /// Only the values that are not zero are stored; a bitmap says which.
    static let optionSparse: UInt8 = 1 << 1
    /// A few values have high bits in a list of exceptions.
    static let optionExceptions: UInt8 = 1 << 2
    /// Values are zigzag, and the base is 0.
    static let optionZigZag: UInt8 = 1 << 3
    static let knownOptions: UInt8 = 0x0F

    /// A writer's choice: high parts from here on are exceptions, not unary.
    static let unaryLimit: UInt64 = 32
    /// Values have such a high part where they have at least this many bits more than the width.
    static let unaryLengthLimit = 6
}
