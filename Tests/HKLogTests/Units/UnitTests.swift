import HKLog
import Testing

@Suite struct UnitTests {
    @Test func `the table of symbols is the golden one`() throws {
        var symbols = 0
        for row in try GoldenTable("units.tsv").rows {
            let symbol = row.cell("symbol")
            if symbol.hasPrefix("prefix:") {
                let unit = try Unit(symbol.dropFirst("prefix:".count) + "Pa")
                #expect(unit.scale == Double(row.cell("scale_to_base")), "\(symbol)")
                continue
            }
            guard row.cell("status") != "not an HKUnit symbol" else {
                #expect(throws: HKLogError.self) { try Unit(symbol) }
                continue
            }
            symbols += 1
            let text = symbol == "mol<M>" ? "mol<180.156>" : symbol
            let unit = try Unit(text)
            let scale = try #require(unit.scale)
            let golden = symbol == "mol<M>" ? 0.180156 : try #require(Double(row.cell("scale_to_base")))
            #expect(abs(scale - golden) <= golden * 2e-16, "\(symbol): \(scale)")
            #expect(abs(unit.offset - (Double(row.cell("offset_to_base")) ?? -1)) < 1e-12, "\(symbol)")
            #expect(unit.description == text)
            #expect(try unit.isCompatible(with: Unit(row.cell("base_unit"))), "\(symbol)")
            let prefixed = "k" + text
            if row.cell("prefixable") == "yes" {
                let scaled = try #require(Unit(prefixed).scale)
                #expect(abs(scaled - scale * 1000) <= scaled * 4e-16, "\(prefixed)")
            } else if symbol != "cal" {
                #expect(throws: HKLogError.self, "\(prefixed)") { try Unit(prefixed) }
            }
        }
        #expect(symbols == 50)
    }

    @Test func `no word can be read in two ways`() throws {
        let rows = try GoldenTable("units.tsv").rows
        var words: [String] = ["l"]
        var prefixable = ["l"]
        for row in rows where !row.cell("symbol").hasPrefix("prefix:") && row.cell("symbol") != "ppm" {
            let symbol = row.cell("symbol")
            if symbol == "mol<M>" { continue }
            words.append(symbol)
            if row.cell("prefixable") == "yes" { prefixable.append(symbol) }
        }
        for row in rows where row.cell("symbol").hasPrefix("prefix:") {
            let prefix = row.cell("symbol").dropFirst("prefix:".count)
            words += prefixable.map { prefix + $0 }
        }
        #expect(words.count == 50 + 13 * 15)
        #expect(Set(words).count == words.count)
        for word in words where !word.hasSuffix("l") || word.hasSuffix("mol") || word.hasSuffix("cal") {
            #expect(try Unit(word).description == word)
        }
    }

    @Test(arguments: [
        ("1", "m^3", 1000, "L"), ("187", "cm", 1.87, "m"), ("500", "mL", 0.5, "L"), ("0.1", "km", 100, "m"),
        ("1.5", "m", 150, "cm"), ("72", "count/min", 1.2, "Hz"), ("36", "km/hr", 10, "m/s"),
        ("2.54", "cm", 1, "in"), ("0.45359237", "kg", 1, "lb"), ("98.6", "degF", 37, "degC"),
        ("37", "degC", 98.6, "degF"), ("0", "degC", 273.15, "K"), ("36.6", "degC", 309.75, "K"),
        ("212", "degF", 100, "degC"), ("-40", "degF", -40, "degC"), ("1", "kcal", 4184, "J"),
        ("5.5", "mmol<180>/L", 99, "mg/dL"), ("90", "mg/dL", 5, "mmol<180>/L"), ("180", "deg", .pi, "rad"),
        ("90", "min", 1.5, "hr"), ("250", "W", 250, "J/s"), ("1", "kcal/hr·kg", 1, "kcal/kg·hr"),
        ("0.97", "%", 0.97, "count"), ("3", "Cal", 3, "kcal"), ("1", "J/m^3", 1, "Pa"),
    ])
    func `values convert to the nearest double`(value: String, from: String, expected: Double, to: String)
        throws
    {
        let number = try #require(Double(value))
        #expect(try Unit(from).convert(number, to: Unit(to)) == expected)
    }

    @Test func `there and back changes at most the last bit`() throws {
        let pairs = [
            ("kg", "lb"), ("m", "mi"), ("mmHg", "kPa"), ("mg/dL", "mmol<180.156>/L"), ("kcal", "kJ"),
        ]
        for (from, to) in pairs {
            let forth = try #require(Unit.conversion(from: Unit(from), to: Unit(to)))
            let back = try #require(Unit.conversion(from: Unit(to), to: Unit(from)))
            for step in 1...1000 {
                let value = Double(step) * 0.37
                #expect(abs(back.apply(forth.apply(value)) - value) <= value.ulp, "\(value) \(from)")
            }
        }
    }

    @Test func `units of one size change no bit`() throws {
        let pairs = [
            ("kcal", "Cal"), ("%", "count"), ("ml/(kg*min)", "mL/min·kg"), ("()", "count^2"), ("W", "J/s"),
            ("mmol<180.15588000005408>/L", "mmol<180.1558800000541>/L"), ("degC", "degC"), ("kPa", "kJ/m^3"),
        ]
        for (from, to) in pairs {
            let conversion = try #require(Unit.conversion(from: Unit(from), to: Unit(to)))
            #expect(conversion.isIdentity, "\(from) \(to)")
            for bits in [0x8000_0000_0000_0000, 1, 0x7FEF_FFFF_FFFF_FFFF, 0x4059_0000_0000_0001] as [UInt64] {
                #expect(conversion.apply(Double(bitPattern: bits)).bitPattern == bits)
            }
        }
    }

    @Test func `units of other dimensions do not convert`() throws {
        for (from, to) in [
            ("kg", "count"), ("m", "s"), ("dBASPL", "Pa"), ("D", "1/m"), ("mol", "mol<18>"), ("IU", "count"),
        ] {
            #expect(try Unit(from).convert(1, to: Unit(to)) == nil)
        }
    }

    @Test func `scale and offset describe the conversion`() throws {
        let conversion = try #require(Unit.conversion(from: Unit("degF"), to: Unit("degC")))
        #expect(abs(conversion.scale - 5 / 9) < 1e-15)
        #expect(abs(conversion.offset + 160 / 9) < 1e-12)
        #expect(!conversion.isIdentity)
    }

    @Test func `everything after the slash divides`() throws {
        #expect(try Unit("mL/min·kg") == Unit("mL/(min·kg)"))
        #expect(try Unit("mL/min·kg") == Unit("mL·min^-1·kg^-1"))
        #expect(try Unit("m·s") != Unit("m/s"))
    }

    @Test func `the canonical units print as exports spell them`() throws {
        for text in [
            "mL/min·kg", "kcal/hr·kg", "mg/dL", "count/min", "mcS", "1/s", "L/min", "mmol<180.156>/L",
        ] {
            #expect(try Unit(text).description == text)
        }
    }

    @Test func `molar masses are equal to about nine digits`() throws {
        #expect(try Unit("mol<180.15588000005408>") == Unit("mol<180.155880000054>"))
        #expect(
            try Unit("mol<180.15588000005408>").hashValue == Unit("mol<180.155880000054>").hashValue)
        #expect(try Unit("mol<180.15588>") != Unit("mol<180.156>"))
    }

    @Test(arguments: [
        ("m/s/s", "'m/s/s' is no unit: a second slash at byte 3"),
        ("bpm", "'bpm' is no unit: unknown symbol at byte 0"),
        ("m^21", "'m^21' is no unit: a power beyond 20 at byte 2"),
        ("mol<1", "'mol<1' is no unit: a molar mass such as mol<180.156> is expected at byte 4"),
        ("m\u{1B}[2J", "'m\u{FFFD}[2J' is no unit: an operator is missing at byte 1"),
        ("(m/s)", "'(m/s)' is no unit: a slash in parentheses at byte 2"),
        ("m·", "'m·' is no unit: a symbol is missing at byte 3"),
    ])
    func `what is wrong is said with its place`(text: String, message: String) {
        #expect {
            try Unit(text)
        } throws: {
            ($0 as? HKLogError)?.code == .invalidArgument && ($0 as? HKLogError)?.message == message
        }
    }

    @Test func `size is bounded`() throws {
        #expect(throws: HKLogError.self) { try Unit(String(repeating: "m·", count: 150) + "m") }
        #expect(throws: HKLogError.self) { try Unit(Array(repeating: "m", count: 21).joined(separator: "·")) }
        #expect(throws: HKLogError.self) { try Unit("((m^20)^20)^20") }
        #expect(throws: HKLogError.self) { try Unit("m^99999999999999999999999") }
        #expect(throws: HKLogError.self) { try Unit("m^-99999999999999999999999") }
        #expect(throws: HKLogError.self) { try Unit("mol<1e999>") }
        #expect(throws: HKLogError.self) { try Unit("mol<0>") }
        let nested = String(repeating: "(", count: 16) + "m" + String(repeating: ")", count: 16)
        #expect(try Unit(nested) == Unit("m"))
        #expect(throws: HKLogError.self) { try Unit("(" + nested + ")") }
        #expect(throws: HKLogError.self) {
            try Unit(String(repeating: "(", count: 100) + String(repeating: ")", count: 100))
        }
        #expect(try Unit("m^20").raised(to: 2) == nil)
        #expect(try Unit("m").raised(to: .min) == nil)
        // Sizes that no integer and hardly a Double holds.
        let huge = try Unit("fl_oz_us^20·mi^20")
        let scale = try #require(huge.convert(1, to: Unit("cup_imp^20·ft^20")))
        #expect(abs(scale - 6.315107093046326e+54) < 6.315107093046326e+54 * 1e-13)
        #expect(try Unit("Tm^20").convert(1, to: Unit("fm^20")) == nil)
    }

    @Test func `random units print and read back as themselves`() throws {
        var random = UnitRandom(seed: 20_261_130)
        let words = [
            "m", "km", "mL", "L", "g", "kg", "mcg", "s", "min", "hr", "count", "%", "J", "kcal", "degC",
            "mmHg",
            "mol<180.15588000005408>", "mmol<18.02>", "mol", "IU", "dBASPL", "D", "deg", "fl_oz_us", "W",
        ]
        for _ in 0..<2000 {
            var text = ""
            for index in 0..<Int.random(in: 1...6, using: &random) {
                if index > 0 { text += ["·", ".", "*"].randomElement(using: &random) ?? "·" }
                let word = words.randomElement(using: &random) ?? "m"
                text += Bool.random(using: &random) ? word : "(\(word))"
                if Bool.random(using: &random) { text += "^\(Int.random(in: -3...3, using: &random))" }
            }
            let unit = try Unit(text)
            let again = try Unit(unit.description)
            #expect(again == unit, "\(text)")
            #expect(again.description == unit.description, "\(text)")
            #expect(unit.convert(0.1, to: again) == 0.1)
        }
    }

    @Test func `hostile text never traps`() {
        var random = UnitRandom(seed: 7)
        let alphabet = Array("m().·*/^-1<>%molgL_ék0e9".unicodeScalars)
        var read = 0
        for _ in 0..<5000 {
            var text = ""
            for _ in 0..<Int.random(in: 0...20, using: &random) {
                text.unicodeScalars.append(alphabet[Int.random(in: 0..<alphabet.count, using: &random)])
            }
            if let unit = try? Unit(text) {
                read += 1
                _ = unit.scale
                #expect((try? Unit(unit.description)) == unit, "\(text)")
            }
        }
        #expect(read > 0)
    }
}

/// The same numbers on every run.
struct UnitRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
