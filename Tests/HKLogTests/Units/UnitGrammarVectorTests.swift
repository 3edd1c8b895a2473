import HKLog
import Testing

/// Every row of `tools/catalog/unit-grammar-vectors.tsv`, by its kind.
@Suite struct UnitGrammarVectorTests {
    /// Rows where HealthKit is known to be wrong and we are right; see docs/units.md.
    private static let exceptions: Set<[String]> = [
        ["compatible", "W", "J/s"],  // FB22085099
        ["compatible", "kW", "J/s"],  // FB22085099
        ["equality", "m raised to 1", "m"],  // FB21934449
    ]

    /// HealthKit's own order is not stable here: it printed `atm·hr·L` and `L·hr·atm` in two orders.
    private static let unstablePrints: Set<String> = ["atm·hr·L"]

    @Test func `every row holds`() throws {
        let rows = try GoldenTable("unit-grammar-vectors.tsv").rows
        #expect(rows.count == 86)
        var met = 0
        for row in rows {
            let (kind, a, b) = (row.cell("kind"), row.cell("a"), row.cell("b"))
            let expected = row.cell("expected")
            let isException = Self.exceptions.contains([kind, a, b])
            if isException { met += 1 }
            switch kind {
            case "parse-fails":
                #expect(throws: HKLogError.self, "\(a)") { try Unit(a) }
            case "parse-null":
                #expect(try Unit(a).isNull, "\(a)")
            case "parse-equal":
                #expect(try (Unit(a) == Unit(b)) == (expected == "equal"), "\(a) \(b)")
            case "compatible":
                let fits = expected == "yes" || isException
                #expect(try Unit(a).isCompatible(with: Unit(b)) == fits, "\(a) \(b)")
            case "convert":
                try checkConversion(a, b, expected)
            case "prints":
                let unit = try build(a)
                let text = Self.unstablePrints.contains(a) ? "L·atm·hr" : b
                #expect(unit.description == text, "\(a)")
                #expect(try Unit(b) == unit, "\(a)")
            case "equality":
                #expect(try Unit("m").raised(to: 1) == Unit(b))
            default:
                Issue.record("a row of an unknown kind: \(kind)")
            }
        }
        #expect(met == Self.exceptions.count)
    }

    @Test func `the rows that we answer otherwise stand in the document`() throws {
        let text = try GoldenTable.document("docs/units.md")
        for row in Self.exceptions { #expect(text.contains("`\(row[1])` and `\(row[2])`"), "\(row)") }
        for limit in [Unit.textByteCountLimit, Unit.exponentLimit, Unit.factorLimit, Unit.nestingLimit] {
            #expect(text.contains(" \(limit)"))
        }
    }

    /// `187 cm` to `m`: to the last bit, or to 1e-12 where the table says "approx".
    private func checkConversion(_ from: String, _ to: String, _ expected: String) throws {
        let parts = from.split(separator: " ").map(String.init)
        let numbers = expected.split(separator: " ").map(String.init)
        let value = try #require(Double(parts[0]))
        let wanted = try #require(Double(numbers[0]))
        let result = try #require(try Unit(parts[1]).convert(value, to: Unit(to)))
        // 1.1 degC·m is 1.9800000000000002 in doubles by any way of counting.
        let isExact = numbers.count == 1 && parts[1] != "degC·m"
        if isExact {
            #expect(result == wanted, "\(from) in \(to)")
        } else {
            #expect(abs(result - wanted) <= abs(wanted) * 1e-12, "\(from) in \(to)")
        }
    }

    /// The units that the table makes by HealthKit's calls instead of by text.
    private func build(_ text: String) throws -> Unit {
        switch text {
        case "literUnit(milli)^2": try #require(Unit("mL").raised(to: 2))
        case "L/s/g": try #require(Unit("L").divided(by: Unit("s"))?.divided(by: Unit("g")))
        case "L/(s/g)":
            try #require(Unit("L").divided(by: secondsPerGram()))
        default: try Unit(text)
        }
    }

    private func secondsPerGram() throws -> Unit {
        try #require(Unit("s").divided(by: Unit("g")))
    }
}
