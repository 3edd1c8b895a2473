/// How many characters of a text from outside a message shows.
private let shownCharacterLimit = 64

/// A text that came from outside, fit for a message: quoted, cut to a bearable length, nothing that a terminal obeys.
func quoted(_ text: String) -> String {
    var quoted = "'"
    for (index, scalar) in text.unicodeScalars.enumerated() {
        if index == shownCharacterLimit {
            quoted += "…"
            break
        }
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
            quoted += "\u{FFFD}"
        default:
            quoted.unicodeScalars.append(scalar)
        }
    }
    return quoted + "'"
}

/// The same for a text that is at hand as its bytes.
func quoted(_ text: some Collection<UInt8>) -> String {
    // A character has at most four bytes: what is left off would not be shown.
    quoted(String(decoding: text.prefix(4 * shownCharacterLimit + 1), as: UTF8.self))
}
