/// One HealthKit object: what a batch adds and what queries give back.
///
/// The flat form for people who handle a few samples; batches and views keep columns instead.
public struct Sample: Sendable, Equatable {
    /// What a sample measured.
    public enum Value: Sendable, Equatable {
        /// A quantity in the sample's unit, as given.
        case quantity(Double)
        /// A category's raw value.
        case category(Int64)
    }

    /// The sample's UUID.
    public var uuid: SampleUUID
    /// The full type identifier, such as `HKQuantityTypeIdentifierStepCount`.
    public var type: String
    /// When it began.
    public var start: Timestamp
    /// When it ended; `nil` when none was given, which means `start`.
    public var end: Timestamp?
    /// The value, for quantity and category types.
    public var value: Value?
    /// The unit string as given.
    public var unit: String?
    /// Where it comes from.
    public var source: Source?
    /// What measured it.
    public var device: Device?
    /// The metadata object.
    public var metadata: JSONText?
    /// How many measurements a quantity series sample stands for; `nil` when none was given, which means 1.
    public var count: UInt64?
    /// What this kind of sample has beyond the fields above.
    public var payload: JSONText?

    /// Makes a sample; everything from `value` on may be left out.
    public init(
        uuid: SampleUUID, type: String, start: Timestamp, end: Timestamp? = nil, value: Value? = nil,
        unit: String? = nil, source: Source? = nil, device: Device? = nil, metadata: JSONText? = nil,
        count: UInt64? = nil, payload: JSONText? = nil
    ) {
        self.uuid = uuid
        self.type = type
        self.start = start
        self.end = end
        self.value = value
        self.unit = unit
        self.source = source
        self.device = device
        self.metadata = metadata
        self.count = count
        self.payload = payload
    }
}
