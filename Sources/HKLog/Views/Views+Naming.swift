internal import HKLogFormat

// What sources are called, where people see and name them.
extension Views {
    static let manualName = "manual"
    static let noSourceName = "(none)"

    /// The name that a source is shown by: its own, with the bundle identifier where two share a name.
    func displayName(ofSource id: UInt32) -> String {
        if id == Symbols.manualSource { return Views.manualName }
        guard let source = symbols.sources[Int(id)] else { return Views.noSourceName }
        let name = source.name ?? source.bundleIdentifier ?? Views.noSourceName
        let isShared = symbols.sources.indices.contains { other in
            guard other != Int(id), let candidate = symbols.sources[other] else { return false }
            let otherName = candidate.name ?? candidate.bundleIdentifier ?? Views.noSourceName
            return otherName.utf8.elementsEqual(name.utf8)
        }
        guard isShared, source.name != nil, let bundle = source.bundleIdentifier else { return name }
        return "\(name) (\(bundle))"
    }

    /// Whether a name that a person gave means a source: by its name, or by name and bundle identifier.
    func sourceIsNamed(_ given: String, _ id: UInt32) -> Bool {
        if id == Symbols.manualSource { return given.utf8.elementsEqual(Views.manualName.utf8) }
        guard let source = symbols.sources[Int(id)] else {
            return given.utf8.elementsEqual(Views.noSourceName.utf8)
        }
        let name = source.name ?? source.bundleIdentifier ?? Views.noSourceName
        if given.utf8.elementsEqual(name.utf8) { return true }
        guard let bundle = source.bundleIdentifier else { return false }
        return given.utf8.elementsEqual("\(name) (\(bundle))".utf8)
    }
}
