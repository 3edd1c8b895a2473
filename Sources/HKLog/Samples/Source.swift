/// Where a sample comes from: HealthKit's `HKSourceRevision` with its `HKSource`.
public struct Source: Hashable, Sendable {
    /// The name that people see, such as "Anna's Watch".
    public var name: String?
    /// The app's bundle identifier; absent in exports.
    public var bundleIdentifier: String?
    /// The version of the app or of the system.
    public var version: String?
    /// The device's product type, such as `Watch7,1`.
    public var productType: String?
    /// The version of the operating system.
    public var operatingSystemVersion: String?

    /// Makes a source; what is not known stays `nil`.
    public init(
        name: String? = nil, bundleIdentifier: String? = nil, version: String? = nil,
        productType: String? = nil, operatingSystemVersion: String? = nil
    ) {
        self.name = name
        self.bundleIdentifier = bundleIdentifier
        self.version = version
        self.productType = productType
        self.operatingSystemVersion = operatingSystemVersion
    }
}

/// The hardware that measured: HealthKit's `HKDevice`.
public struct Device: Hashable, Sendable {
    /// The device's name.
    public var name: String?
    /// The manufacturer.
    public var manufacturer: String?
    /// The model.
    public var model: String?
    /// The hardware revision.
    public var hardwareVersion: String?
    /// The firmware revision.
    public var firmwareVersion: String?
    /// The software revision.
    public var softwareVersion: String?
    /// The local identifier.
    public var localIdentifier: String?
    /// The FDA's device identifier.
    public var udiDeviceIdentifier: String?

    /// Makes a device; what is not known stays `nil`.
    public init(
        name: String? = nil, manufacturer: String? = nil, model: String? = nil,
        hardwareVersion: String? = nil, firmwareVersion: String? = nil, softwareVersion: String? = nil,
        localIdentifier: String? = nil, udiDeviceIdentifier: String? = nil
    ) {
        self.name = name
        self.manufacturer = manufacturer
        self.model = model
        self.hardwareVersion = hardwareVersion
        self.firmwareVersion = firmwareVersion
        self.softwareVersion = softwareVersion
        self.localIdentifier = localIdentifier
        self.udiDeviceIdentifier = udiDeviceIdentifier
    }
}
