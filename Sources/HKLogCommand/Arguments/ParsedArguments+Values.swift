internal import HKLog

/// Values of options as what they mean.
extension ParsedArguments {
    /// One of a few words.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ option: Option, of type: Choice.Type
    ) throws(HKLogError) -> Choice? where Choice.RawValue == String {
        guard let text = value(option) else { return nil }
        let words = Choice.allCases.map { $0.rawValue }
        return try Self.choice(text, option, words).flatMap { Choice(rawValue: $0) }
    }

    /// A list of words with commas between.
    func choices<Choice: RawRepresentable & CaseIterable>(
        _ option: Option, of type: Choice.Type
    ) throws(HKLogError) -> [Choice]? where Choice.RawValue == String {
        guard let text = value(option) else { return nil }
        let words = Choice.allCases.map { $0.rawValue }
        var result: [Choice] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let word = part.drop { $0 == " " }
            if let choice = try Self.choice(String(word), option, words).flatMap({ Choice(rawValue: $0) }) {
                result.append(choice)
            }
        }
        return result
    }

    private static func choice(
        _ text: String, _ option: Option, _ words: [String]
    ) throws(HKLogError) -> String? {
        if let word = words.first(where: { $0.lowercased() == text.lowercased() }) { return word }
        let hint = NearMiss.best(for: text, among: words).map { "; did you mean \($0)?" } ?? ""
        throw HKLogError(
            .invalidArgument,
            "--\(option.rawValue): '\(SafeText.line(text))' is none of \(words.joined(separator: ", "))\(hint)"
        )
    }

    /// A whole number of 0 or more.
    func number(_ option: Option, least: UInt64 = 0) throws(HKLogError) -> UInt64? {
        guard let text = value(option) else { return nil }
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = UInt64(text), number >= least
        else {
            throw HKLogError(
                .invalidArgument,
                "--\(option.rawValue): '\(SafeText.line(text))' is no whole number of \(least) or more")
        }
        return number
    }

    /// A whole number that counts things in memory.
    func count(_ option: Option, least: Int = 0) throws(HKLogError) -> Int? {
        try number(option, least: UInt64(least)).map { Int(clamping: $0) }
    }

    /// Names with commas between; `\,` is a comma within a name and `\\` a backslash.
    func names(_ option: Option) -> [String]? { value(option).map { Self.names($0) } }

    static func names(_ text: String) -> [String] {
        var names: [String] = []
        var name = ""
        var isEscaped = false
        for scalar in text.unicodeScalars {
            if isEscaped {
                if scalar != "," && scalar != "\\" { name.unicodeScalars.append("\\") }
                name.unicodeScalars.append(scalar)
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else if scalar == "," {
                names.append(name)
                name = ""
            } else {
                name.unicodeScalars.append(scalar)
            }
        }
        if isEscaped { name.unicodeScalars.append("\\") }
        names.append(name)
        return names.filter { !$0.isEmpty }
    }
}
