/// An instant, in whole microseconds since 1970-01-01T00:00:00Z.
///
/// Dates of samples are rounded to the microsecond, so that a date is the same number however it was written.
public struct Timestamp: Hashable, Comparable, Sendable, BitwiseCopyable {
    /// Microseconds since 1970, leap seconds not counted.
    public var microseconds: Int64

    /// Makes an instant of its microseconds since 1970.
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// Makes an instant of seconds since 1970 (`Date.timeIntervalSince1970`), rounded half to even; `nil` when it
    /// is not finite or outside the years 1 to 9999.
    public init?(secondsSince1970 seconds: Double) {
        let scaled = (seconds * 1_000_000).rounded(.toNearestOrEven)
        guard scaled >= Double(Timestamp.earliest.microseconds),
            scaled <= Double(Timestamp.latest.microseconds)
        else { return nil }
        self.microseconds = Int64(scaled)
    }

    /// 0001-01-01T00:00:00Z.
    public static let earliest = Timestamp(microseconds: -62_135_596_800_000_000)
    /// 9999-12-31T23:59:59.999999Z.
    public static let latest = Timestamp(microseconds: 253_402_300_799_999_999)

    /// The instant as seconds since 1970.
    public var secondsSince1970: Double { Double(microseconds) / 1_000_000 }

    /// Orders by time.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microseconds < right.microseconds
    }
}
