import HKLog
import HKLogFormat
import HKLogTestSupport

/// Writes the workload's samples as the Health app exports them: `export.xml`, a type after the other, times in
/// whole seconds, with the document type and the devices that make a real one large.
enum ExportFile {
    static func write(_ settings: WorkerSettings) throws -> Figures {
        var workload = Workload(sampleCount: settings.samples, seed: settings.seed)
        var records = [[Workload.Record]](repeating: [], count: WorkloadType.all.count)
        while true {
            let more = workload.nextRecords(size: 1000)
            if more.isEmpty { break }
            for record in more where !record.isDeletion { records[record.type].append(record) }
        }
        let layer = SystemFiles()
        try layer.unlinkIfThere(settings.path)
        let file = try layer.openFully(settings.path, .creating)
        var text = head
        var offset = 0
        for (type, list) in zip(WorkloadType.all, records) {
            for record in list {
                text += element(record, type)
                guard text.utf8.count > 1 << 18 else { continue }
                let bytes = Array(text.utf8)
                try file.writeFully(bytes.span, at: offset)
                offset += bytes.count
                text = ""
            }
        }
        text += "</HealthData>\n"
        let bytes = Array(text.utf8)
        try file.writeFully(bytes.span, at: offset)
        var figures = Figures()
        figures.append("inputBytes", offset + bytes.count)
        return figures
    }

    private static func element(_ record: Workload.Record, _ type: WorkloadType) -> String {
        let year = (record.start - Workload.firstDay) / 31_536_000_000_000
        let system = "\(6 + year).\(record.start / 5_184_000_000_000 % 6).1"
        let name = Workload.sources[record.source].name ?? ""
        var text = " <Record type=\"\(type.identifier)\" sourceName=\"\(name)\" sourceVersion=\"\(system)\""
        if record.source == 0 {
            let address = String(record.start / 432_000_000_000 * 7919 & 0xFF_FFFF, radix: 16)
            text +=
                " device=\"&lt;&lt;HKDevice: 0x283\(address)&gt;, name:Apple Watch, manufacturer:Apple Inc.,"
            text += " model:Watch, hardware:Watch6,2, software:\(6 + year).1.1&gt;\""
        }
        let created = record.end + Int64((record.uuid.first >> 24) % 240) * 1_000_000
        text += " unit=\"\(type.unit)\" creationDate=\"\(date(created))\" startDate=\"\(date(record.start))\""
        text += " endDate=\"\(date(record.end))\" value=\"\(value(record.value))\""
        let isHeartRate = type.identifier == WorkloadType.all[0].identifier
        if isHeartRate && record.uuid.first & 0xFF < 180 {
            text += ">\n  <MetadataEntry key=\"HKMetadataKeyHeartRateMotionContext\""
            text += " value=\"\(record.uuid.first % 3)\"/>\n </Record>\n"
        } else {
            text += "/>\n"
        }
        return text
    }

    private static func value(_ value: Double) -> String {
        value == value.rounded() ? "\(Int64(value))" : "\(value)"
    }

    /// `2021-03-01 07:05:09 -0800`.
    private static func date(_ microseconds: Int64) -> String {
        let local = microseconds / 1_000_000 - 8 * 3600
        let day = CivilDate(dayNumber: Int32(local / 86_400))
        let second = local % 86_400
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let clock = "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))"
        return "\(day) \(clock) -0800"
    }

    private static let head = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE HealthData [
        <!-- HealthKit Export Version: 13 -->
        <!ELEMENT HealthData (ExportDate,Me,(Record|Correlation|Workout|ActivitySummary)*)>
        <!ATTLIST HealthData
          locale CDATA #REQUIRED
        >
        <!ELEMENT ExportDate EMPTY>
        <!ATTLIST ExportDate
          value CDATA #REQUIRED
        >
        <!ELEMENT Me EMPTY>
        <!ATTLIST Me
          HKCharacteristicTypeIdentifierDateOfBirth         CDATA #REQUIRED
          HKCharacteristicTypeIdentifierBiologicalSex       CDATA #REQUIRED
        >
        <!ELEMENT Record ((MetadataEntry)*)>
        <!ATTLIST Record
          type          CDATA #REQUIRED
          unit          CDATA #IMPLIED
          value         CDATA #IMPLIED
          sourceName    CDATA #REQUIRED
          sourceVersion CDATA #IMPLIED
          device        CDATA #IMPLIED
          creationDate  CDATA #IMPLIED
          startDate     CDATA #REQUIRED
          endDate       CDATA #REQUIRED
        >
        <!ELEMENT MetadataEntry EMPTY>
        <!ATTLIST MetadataEntry
          key   CDATA #REQUIRED
          value CDATA #REQUIRED
        >
        ]>
        <HealthData locale="en_US">
         <ExportDate value="2024-01-05 09:12:44 -0800"/>
         <Me HKCharacteristicTypeIdentifierDateOfBirth="1980-01-01" HKCharacteristicTypeIdentifierBiologicalSex="HKBiologicalSexMale"/>

        """
}
