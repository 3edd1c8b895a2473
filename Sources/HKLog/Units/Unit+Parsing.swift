extension Unit {
    /// How long a unit string may be, in bytes of UTF-8.
    public static let textByteCountLimit = 256
    /// How deep parentheses may stand in one another.
    public static let nestingLimit = 16

    /// Reads a HealthKit unit string, such as `count/min`, `mg/dL` or `mmol<180.15588000005408>/L`.
    ///
    /// ```
    /// unit    = "" | group [ "/" group ]           one slash; everything after it divides
    /// group   = empty | product
    /// product = factor { ("·" | "." | "*") factor }
    /// factor  = ( word | "mol<" mass ">" | "1" | "(" product ")" ) [ "^" [ "-" ] digits ]
    /// empty   = "(" [ empty ] ")"                  the null unit; only as a whole group
    /// ```
    ///
    /// - Throws: `invalidArgument` that names the place and what is wrong there.
    public init(_ text: String) throws(HKLogError) {
        guard text.utf8.count <= Unit.textByteCountLimit else {
            throw HKLogError(
                .invalidArgument,
                "the unit \(quoted(text)) is longer than \(Unit.textByteCountLimit) bytes")
        }
        var parser = UnitParser(bytes: Array(text.utf8))
        do {
            self = try parser.unit()
        } catch {
            throw HKLogError(
                .invalidArgument,
                "\(quoted(text)) is no unit: \(error.reason) at byte \(error.byteOffset)")
        }
    }
}

private struct UnitFault: Error {
    var reason: String
    var byteOffset: Int
}

private struct UnitParser {
    let bytes: [UInt8]
    var position = 0

    mutating func unit() throws(UnitFault) -> Unit {
        if bytes.isEmpty { return .null }
        var factors = try group()
        if skip("/") { factors += try group().map { $0.raised(to: -1) } }
        switch peek {
        case nil: break
        case UInt8(ascii: "/"): throw fault("a second slash")
        case UInt8(ascii: ")"): throw fault("a ')' without its '('")
        default: throw fault("an operator is missing")
        }
        guard let unit = Unit(sorting: factors).bounded else {
            throw fault("more than \(Unit.factorLimit) factors, or a power beyond \(Unit.exponentLimit),")
        }
        return unit
    }

    /// One side of the slash.
    private mutating func group() throws(UnitFault) -> [UnitFactor] {
        if skipEmptyParentheses() { return [] }
        return try product(depth: 0)
    }

    private mutating func product(depth: Int) throws(UnitFault) -> [UnitFactor] {
        var factors = try factor(depth: depth)
        while skipOperator() {
            factors += try factor(depth: depth)
        }
        return factors
    }

    private mutating func factor(depth: Int) throws(UnitFault) -> [UnitFactor] {
        var factors: [UnitFactor]
        switch peek {
        case UInt8(ascii: "("):
            guard depth < Unit.nestingLimit else { throw fault("parentheses are nested too deep") }
            position += 1
            factors = try product(depth: depth + 1)
            guard skip(")") else {
                throw fault(peek == UInt8(ascii: "/") ? "a slash in parentheses" : "a ')' is missing")
            }
        case UInt8(ascii: "1"):
            position += 1
            factors = []
        default:
            factors = [try symbol()]
        }
        guard skip("^") else { return factors }
        let start = position
        let power = try exponent()
        factors = factors.map { $0.raised(to: power) }
        // Bounded at once, so that nested powers cannot grow beyond any number.
        guard let bounded = Unit(sorting: factors).bounded else {
            throw fault("a power beyond \(Unit.exponentLimit)", at: start)
        }
        if peek == UInt8(ascii: "^") { throw fault("a power of a power without parentheses") }
        return bounded.factors
    }

    private mutating func symbol() throws(UnitFault) -> UnitFactor {
        let start = position
        while let byte = peek, isWordByte(byte) { position += 1 }
        guard position > start else { throw fault("a symbol is missing") }
        guard let (symbol, prefix) = UnitSymbol.named(bytes[start..<position]) else {
            throw fault("unknown symbol", at: start)
        }
        guard skip("<") else { return UnitFactor(symbol: symbol, prefix: prefix, exponent: 1) }
        guard symbol == UnitSymbol.mole else { throw fault("only mol has a molar mass", at: start) }
        let mass = try molarMass()
        return UnitFactor(symbol: UnitSymbol.moleOfMass, prefix: prefix, exponent: 1, molarMass: mass)
    }

    /// Grams in a mole and the closing bracket.
    private mutating func molarMass() throws(UnitFault) -> Double {
        let start = position
        var isNumber = skipDigits()
        if skip(".") { isNumber = skipDigits() && isNumber }
        if isNumber, skip("e") || skip("E") {
            if !skip("-") { _ = skip("+") }
            isNumber = skipDigits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard isNumber, let mass = Double(text), skip(">") else {
            throw fault("a molar mass such as mol<180.156> is expected", at: start)
        }
        guard mass >= 1e-3, mass <= 1e9 else { throw fault("a molar mass beyond 0.001 to 1e9", at: start) }
        return mass
    }

    private mutating func exponent() throws(UnitFault) -> Int {
        let start = position
        let isNegative = skip("-")
        var value = 0
        let firstDigit = position
        while let byte = peek, isDigit(byte) {
            // Sound: at most 999, then the loop has left by the guard.
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
            position += 1
            guard value <= Unit.exponentLimit else {
                throw fault("a power beyond \(Unit.exponentLimit)", at: start)
            }
        }
        guard position > firstDigit else { throw fault("a whole number is expected") }
        return isNegative ? -value : value
    }

    /// Moves over `()`, `(())` and so on when the group holds nothing else.
    private mutating func skipEmptyParentheses() -> Bool {
        var end = position
        while end < bytes.count, bytes[end] == UInt8(ascii: "(") { end += 1 }
        let depth = end - position
        guard depth > 0, depth <= Unit.nestingLimit, depth <= bytes.count - end else { return false }
        guard bytes[end..<end + depth].allSatisfy({ $0 == UInt8(ascii: ")") }) else { return false }
        guard end + depth == bytes.count || bytes[end + depth] == UInt8(ascii: "/") else { return false }
        position = end + depth
        return true
    }

    private mutating func skipOperator() -> Bool {
        if skip(".") || skip("*") { return true }
        // `·` is two bytes in UTF-8.
        guard position + 1 < bytes.count, bytes[position] == 0xC2, bytes[position + 1] == 0xB7 else {
            return false
        }
        position += 2
        return true
    }

    /// Whether there was at least one digit.
    private mutating func skipDigits() -> Bool {
        let start = position
        while let byte = peek, isDigit(byte) { position += 1 }
        return position > start
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    private func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "_"), UInt8(ascii: "%"):
            true
        default: false
        }
    }

    private func fault(_ reason: String, at byteOffset: Int? = nil) -> UnitFault {
        UnitFault(reason: reason, byteOffset: byteOffset ?? position)
    }
}
