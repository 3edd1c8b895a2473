import HKLog
import HKLogFormat
import Testing

@Suite struct LabelOutlineTests {
    private let shapes = [
        SampleShape(valueKind: .double, type: "HKQuantityTypeIdentifierHeartRate", unit: "count/min"),
        SampleShape(valueKind: .integer, type: "HKCategoryTypeIdentifierSleepAnalysis"),
        SampleShape(
            valueKind: .none, type: "x", unit: nil, source: Source(name: "Watch", version: "11.2"),
            device: Device(model: String(repeating: "m", count: 200))),
        SampleShape(valueKind: .double, type: "", unit: "", source: Source(name: "")),
    ]

    @Test func `an outline says where the type is and whether there is a unit`() throws {
        for shape in shapes {
            let label = shape.label
            let found = LabelOutline(label: label.span)
            let outline = try #require(found)
            #expect(Array(label[outline.type]) == Array(shape.type.utf8))
            #expect(outline.hasUnit == (shape.unit != nil))
        }
    }

    @Test func `a damaged label has an outline just where it is a shape`() {
        for shape in shapes {
            let label = shape.label
            for index in label.indices {
                for byte: UInt8 in [0, 1, 2, 3, 7, 127, 128, 255] {
                    var damaged = label
                    damaged[index] = byte
                    #expect(hasOutline(damaged) == (SampleShape(label: damaged) != nil))
                }
                let cut = Array(label[..<index])
                #expect(hasOutline(cut) == (SampleShape(label: cut) != nil))
            }
            #expect(!hasOutline(label + [0]))
        }
    }

    private func hasOutline(_ label: [UInt8]) -> Bool { LabelOutline(label: label.span) != nil }
}
