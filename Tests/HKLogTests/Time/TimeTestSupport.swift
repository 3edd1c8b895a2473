import HKLog
import Testing

/// SplitMix64: the same numbers for the same seed everywhere.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}

func calendar(_ identifier: String) throws -> LocalCalendar {
    LocalCalendar(rules: try TimeZoneRules(identifier: identifier))
}

/// The instant of a text that is known to be one.
func instant(_ text: String) throws -> Int64 {
    try #require(Timestamp(text)).microseconds
}

func date(_ text: String) throws -> CivilDate {
    try #require(CivilDate(text))
}

/// Zones whose rules have something odd each.
let oddZones = [
    "America/New_York", "Europe/London", "Europe/Dublin", "Australia/Lord_Howe", "Asia/Kathmandu",
    "Pacific/Apia",
    "Africa/Casablanca", "America/Sao_Paulo", "Asia/Tehran", "America/Godthab", "Antarctica/Troll",
    "America/St_Johns", "Pacific/Kwajalein", "Asia/Gaza", "Africa/Cairo", "America/Havana", "Asia/Beirut",
    "America/Santiago", "America/Asuncion", "Pacific/Chatham", "Asia/Tokyo", "UTC",
]
