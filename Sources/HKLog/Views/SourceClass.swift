/// The classes of the default source priority, the first one first.
///
/// Apple documents that manual entries come first, then the user's own devices, then other apps and devices; that
/// a watch comes before a phone is what the Health app shows.
enum SourceClass: UInt8, Comparable {
    case manual, watch, phone, apple, other

    static func < (left: SourceClass, right: SourceClass) -> Bool { left.rawValue < right.rawValue }

    var name: String {
        switch self {
        case .manual: "manual"
        case .watch: "watch"
        case .phone: "phone"
        case .apple: "apple"
        case .other: "other"
        }
    }

    /// Reads the class from what a sample says of where it comes from.
    ///
    /// The product type counts only where the bundle identifier is absent or Apple's: an app of someone else
    /// bears the product type of the phone it runs on.
    init(source: Source?, device: Device?) {
        let bundle = source?.bundleIdentifier
        if bundle == nil || bundle?.utf8.starts(with: "com.apple.".utf8) == true,
            let product = source?.productType, let told = SourceClass(telling: product)
        {
            self = told
            return
        }
        for text in [device?.name, device?.model, device?.hardwareVersion, source?.name] {
            if let text, let told = SourceClass(telling: text) {
                self = told
                return
            }
        }
        self = .other
    }

    /// The class that a text names; `nil` when it names none.
    init?(telling text: String) {
        let words = SourceClass.words(text)
        if words.contains("watch") {
            self = .watch
        } else if words.contains("iphone") {
            self = .phone
        } else if words.contains(where: SourceClass.otherApple.contains) {
            self = .apple
        } else {
            return nil
        }
    }

    private static let otherApple = [
        "ipad", "ipod", "mac", "macbook", "macbookpro", "macbookair", "imac", "macmini", "macpro",
        "macstudio",
        "appletv", "audioaccessory", "homepod", "airpods", "realitydevice",
    ]

    /// Runs of ASCII letters, in lower case: `Watch7,1` has the word `watch`, `Anna’s Apple Watch` too.
    private static func words(_ text: String) -> [String] {
        var words: [String] = []
        var word = ""
        for byte in text.utf8 {
            let lower = byte | 0x20
            if lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z") {
                word.unicodeScalars.append(Unicode.Scalar(lower))
            } else if !word.isEmpty {
                words.append(word)
                word = ""
            }
        }
        if !word.isEmpty { words.append(word) }
        return words
    }
}
