internal import HKLogFormat

extension StoreSettings {
    /// What views depend on as a JSON object, members in a fixed order: the form it has in `store.json` and in
    /// checkpoints.
    ///
    /// The size of segments stands beside it.
    package func encoded() -> [UInt8] {
        let styles = styles.sorted { $0.key < $1.key }.map {
            JSONValue.Member($0.key, .string($0.value.rawValue))
        }
        let priorities = priorities.sorted { $0.key < $1.key }.map {
            JSONValue.Member($0.key, .array($0.value.map { .string($0) }))
        }
        let object = JSONValue.object([
            JSONValue.Member("timeZone", .string(timeZone)),
            JSONValue.Member("styles", .object(styles)),
            JSONValue.Member("priorities", .object(priorities)),
        ])
        var bytes: [UInt8] = []
        object.write(to: &bytes)
        return bytes
    }

    /// Reads them back; `nil` when the bytes are no such object.
    package init?(encoded bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self), let object = try? JSONValue(parsing: text),
            let zone = object["timeZone"]?.stringValue, let styles = object["styles"]?.members,
            let priorities = object["priorities"]?.members
        else { return nil }
        self.init(timeZone: zone)
        for style in styles {
            guard let value = style.value.stringValue.flatMap(AggregationStyle.init(rawValue:)) else {
                return nil
            }
            self.styles[style.name] = value
        }
        for priority in priorities {
            guard let names = priority.value.elements else { return nil }
            self.priorities[priority.name] = names.compactMap(\.stringValue)
        }
    }

    /// A hash of what views depend on beside the log: their version, the settings, the zone's rules.
    func definition(rules: TimeZoneRules) -> RawDigest {
        var hasher = ContentHasher(domain: DigestDomain.settings)
        hasher.add(UInt64(LayerHeader.version))
        let bytes = encoded()
        hasher.add(bytes.span)
        hasher.add(rules.checksum)
        return hasher.finish()
    }
}
