internal import HKLog

/// Whether two payloads say the same.
///
/// Quantities may differ by conversion noise, each in the unit beside it. Members of objects have no order, nor have
/// a correlation's members and a workout's statistics: the phone keeps those in sets, and writes them as they come.
struct PayloadComparison {
    /// The key of an array that stands for a set.
    private let setKey: StaticString?

    init(ofType type: String) {
        let identifier = Array(type.utf8)
        if hasPrefix(identifier, "HKCorrelationTypeIdentifier") {
            setKey = "members"
        } else if isText(identifier, "HKWorkoutTypeIdentifier") {
            setKey = "statistics"
        } else {
            setKey = nil
        }
    }

    func isSame(_ left: JSONValue, _ right: JSONValue) -> Bool {
        isSame(left, right, in: nil, nil, key: "")
    }

    /// Whether two numbers differ by no more than a millionth.
    static func isClose(_ left: Double, _ right: Double) -> Bool {
        left == right || abs(left - right) <= 1e-6 * max(abs(left), abs(right))
    }

    /// The members of an object in the order of their keys' bytes.
    static func byName(_ members: [JSONValue.Member]) -> [JSONValue.Member] {
        members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// `leftOwner` and `rightOwner` are the objects that the values stand in under `key`: their units stand beside.
    private func isSame(
        _ left: JSONValue, _ right: JSONValue, in leftOwner: JSONValue?, _ rightOwner: JSONValue?, key: String
    ) -> Bool {
        switch (left, right) {
        case (.number, .number):
            guard let leftNumber = left.doubleValue, let rightNumber = right.doubleValue else {
                return left == right
            }
            let leftUnit = leftOwner.flatMap { unitText(of: key, in: $0) }
            let rightUnit = rightOwner.flatMap { unitText(of: key, in: $0) }
            if isSameText(leftUnit, rightUnit) { return PayloadComparison.isClose(leftNumber, rightNumber) }
            guard let leftUnit = unit(leftUnit), let rightUnit = unit(rightUnit),
                let converted = leftUnit.convert(leftNumber, to: rightUnit)
            else { return false }
            return PayloadComparison.isClose(converted, rightNumber)
        case (.array(let leftItems), .array(let rightItems)):
            guard leftItems.count == rightItems.count else { return false }
            let isSet = setKey.map { isText(Array(key.utf8), $0) } ?? false
            let leftList = isSet ? inOrder(leftItems) : leftItems
            let rightList = isSet ? inOrder(rightItems) : rightItems
            for (leftItem, rightItem) in zip(leftList, rightList)
            where !isSame(leftItem, rightItem, in: leftOwner, rightOwner, key: key) {
                return false
            }
            return true
        case (.object(let leftMembers), .object(let rightMembers)):
            guard leftMembers.count == rightMembers.count else { return false }
            let pairs = zip(
                PayloadComparison.byName(leftMembers), PayloadComparison.byName(rightMembers))
            for (leftMember, rightMember) in pairs {
                guard isSameText(leftMember.name, rightMember.name) else { return false }
                // Units differ where the display setting does; the numbers beside them decide.
                if isUnitKey(leftMember.name), hasConvertibleUnits(leftMember.value, rightMember.value) {
                    continue
                }
                guard isSame(leftMember.value, rightMember.value, in: left, right, key: leftMember.name)
                else {
                    return false
                }
            }
            return true
        default:
            return left == right
        }
    }

    /// The items of a set in an order of their own: that of their texts, or of the texts that name them.
    private func inOrder(_ items: [JSONValue]) -> [JSONValue] {
        let named = items.map { item in
            let texts = [item, item["type"], item["start"], item["end"]].map { $0?.stringValue ?? "" }
            return (name: texts.map { Array($0.utf8) }, item: item)
        }
        return named.sorted { left, right in
            for (leftText, rightText) in zip(left.name, right.name) where leftText != rightText {
                return leftText.lexicographicallyPrecedes(rightText)
            }
            return false
        }.map(\.item)
    }

    // MARK: - Units

    private func unit(_ text: String?) -> Unit? {
        guard let text else { return nil }
        return try? Unit(text)
    }

    private func isSameText(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.utf8.elementsEqual(right.utf8)
    }

    private func isUnitKey(_ key: String) -> Bool {
        hasSuffix(Array(key.utf8), "Unit") || isText(Array(key.utf8), "unit")
    }

    private func hasConvertibleUnits(_ left: JSONValue, _ right: JSONValue) -> Bool {
        guard case .string(let leftText) = left, case .string(let rightText) = right else { return false }
        if isSameText(leftText, rightText) { return true }
        guard let leftUnit = unit(leftText), let rightUnit = unit(rightText) else { return false }
        return leftUnit.isCompatible(with: rightUnit)
    }

    /// The unit that goes with a number: `sumUnit` or `unit` with `sum`, and for the names that Apple gives to
    /// several numbers of one unit, the one that they share.
    private func unitText(of key: String, in owner: JSONValue) -> String? {
        var stems = [key]
        for ending in ["Goal", "Value", "ClampingRangeLowerBound", "ClampingRangeUpperBound"]
        where key.hasSuffix(ending) {
            stems.append(String(key.dropLast(ending.count)))
        }
        for stem in stems {
            if case .string(let text)? = owner[stem + "Unit"] { return text }
        }
        if case .string(let text)? = owner["unit"] { return text }
        return nil
    }
}
