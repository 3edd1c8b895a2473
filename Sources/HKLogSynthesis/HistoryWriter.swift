internal import HKLog

/// Who writes samples in a generated history: a watch, a phone, a few apps and devices, and the person.
enum HistoryWriter: Int, CaseIterable {
    case watch, phone, scale, cuff, glucoseMeter, sleepApp, waterApp, breathingApp, byHand

    /// The systems follow one another about every 180 days, the watch and the phone are replaced once each.
    static let eraCount = 10

    /// The era of a day in a history, counted from its end: however long the history, it ends in the last one.
    static func era(day: Int, dayCount: Int) -> Int {
        max(eraCount - 1 - (dayCount - 1 - day) / 180, 0)
    }

    func source(era: Int) -> Source {
        let system = HistoryWriter.systems[min(max(era, 0), HistoryWriter.eraCount - 1)]
        switch self {
        case .watch:
            return Source(
                name: "Anna\u{2019}s Apple\u{A0}Watch",
                bundleIdentifier: "com.apple.health.4C0B7C7E-8F0A-4E0B-9A55-3F0F7A1D2B11",
                version: system.watch, productType: era < 6 ? "Watch6,2" : "Watch7,3",
                operatingSystemVersion: system.watch)
        case .phone:
            return Source(
                name: "iPhone", bundleIdentifier: "com.apple.health.A2D1F6E0-3B57-4C69-8E0C-5A1B9C7D4E22",
                version: system.phone, productType: era < 4 ? "iPhone13,2" : "iPhone16,1",
                operatingSystemVersion: system.phone)
        case .scale:
            return app("Scale & Co", "com.example.scale", "5.\(era).1", era)
        case .cuff:
            return app("Pressure Cuff", "com.example.cuff", "2.\(era)", era)
        case .glucoseMeter:
            return app("Glucose Meter", "com.example.glucose", "11.\(era).0", era)
        case .sleepApp:
            return app("Night Log", "com.example.nightlog", "3.\(era)", era)
        case .waterApp:
            return app("Drink Up", "com.example.drinkup", "1.\(era)", era)
        case .breathingApp:
            return app("Breathe Slowly", "com.example.breathe", "4.\(era)", era)
        case .byHand:
            return Source(
                name: "Health", bundleIdentifier: "com.apple.Health", version: system.phone,
                productType: era < 4 ? "iPhone13,2" : "iPhone16,1", operatingSystemVersion: system.phone)
        }
    }

    func device(era: Int) -> Device? {
        let system = HistoryWriter.systems[min(max(era, 0), HistoryWriter.eraCount - 1)]
        switch self {
        case .watch:
            return Device(
                name: "Apple Watch", manufacturer: "Apple Inc.", model: "Watch",
                hardwareVersion: era < 6 ? "Watch6,2" : "Watch7,3", softwareVersion: system.watch)
        case .phone:
            return Device(
                name: "iPhone", manufacturer: "Apple Inc.", model: "iPhone",
                hardwareVersion: era < 4 ? "iPhone13,2" : "iPhone16,1", softwareVersion: system.phone)
        case .scale:
            return Device(name: "Scale", manufacturer: "Example", model: "S-200", firmwareVersion: "17\(era)")
        case .cuff:
            return Device(
                name: "Cuff", manufacturer: "Example", model: "BP-7", firmwareVersion: "2.1",
                localIdentifier: "BP7-0042")
        case .glucoseMeter, .sleepApp, .waterApp, .breathingApp, .byHand:
            return nil
        }
    }

    /// An app names the phone that it runs on as its product.
    private func app(_ name: String, _ bundleIdentifier: String, _ version: String, _ era: Int) -> Source {
        Source(
            name: name, bundleIdentifier: bundleIdentifier, version: version,
            productType: era < 4 ? "iPhone13,2" : "iPhone16,1",
            operatingSystemVersion: HistoryWriter.systems[min(max(era, 0), HistoryWriter.eraCount - 1)].phone)
    }

    private static let systems: [(watch: String, phone: String)] = [
        ("8.3", "15.2"), ("8.7", "15.6"), ("9.1", "16.1"), ("9.4", "16.4"), ("9.6", "16.6"), ("10.1", "17.1"),
        ("10.4", "17.4"), ("11.0", "18.0"), ("11.3", "18.3"), ("26.1", "26.1"),
    ]
}
