/// A text that came from outside, fit for a message: quoted, at most 40 characters, nothing that a terminal obeys.
package func quotedForMessage(_ text: String) -> String {
    var quoted = "'"
    for (index, scalar) in text.unicodeScalars.enumerated() {
        if index == 40 {
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
