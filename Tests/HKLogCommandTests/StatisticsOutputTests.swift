import Foundation
import Testing

/// The columns of the contract, and right numbers in them.
struct StatisticsOutputTests {
    private func filled() throws -> Workspace {
        let work = try Workspace()
        let outcome = try work.fill(history)
        #expect(outcome.status == 0, "\(outcome.errors)")
        return work
    }

    @Test func `cumulative types: what a watch covers does not count twice, and midnight splits`() throws {
        let rows = try filled().run("stats", "--type", "stepCount", "--format", "csv").csv
        // The phone's 600 in ten minutes are half covered by the watch: 300 + 400 + half of the 100 over midnight.
        #expect(
            rows == [
                ["type", "bucket", "start", "end", "unit", "count", "sum", "style"],
                [
                    steps, "2026-03-01", "2026-03-01T00:00:00+01:00", "2026-03-02T00:00:00+01:00", "count",
                    "3", "750",
                    "cumulative",
                ],
                [
                    steps, "2026-03-02", "2026-03-02T00:00:00+01:00", "2026-03-03T00:00:00+01:00", "count",
                    "1", "50",
                    "cumulative",
                ],
            ])
    }

    @Test func `sources apart stand after the merged row, uncovered`() throws {
        let rows = try filled().run(
            "stats", "--type", "STEPCOUNT", "--separate-by-source", "--end", "2026-03-01", "--format", "csv"
        ).csv
        #expect(rows.first == ["type", "bucket", "start", "end", "source", "unit", "count", "sum", "style"])
        let sums = rows.dropFirst().map { [$0[4], $0[6], $0[7]] }
        #expect(sums.first == ["", "3", "750"])
        #expect(Set(sums.dropFirst()) == [["Anna's iPhone", "2", "650"], ["Anna's Watch", "1", "400"]])
    }

    @Test func `discrete types`() throws {
        let rows = try filled().run("stats", "--type", "heartRate", "--format", "csv").csv
        #expect(
            rows.first == [
                "type", "bucket", "start", "end", "unit", "count", "min", "max", "average", "mostRecent",
                "style",
            ])
        #expect(
            rows.dropFirst().map { Array($0[4...9]) } == [
                ["count/min", "2", "60", "90.5", "75.25", "90.5"],
                ["count/min", "1", "90", "90", "90", "90"],
            ])
    }

    @Test func `category types: the name in CSV, the integer in JSON`() throws {
        let work = try filled()
        let rows = try work.run("stats", "--type", "sleepAnalysis", "--format", "csv").csv
        #expect(rows.first == ["type", "bucket", "start", "end", "value", "count", "seconds"])
        #expect(
            rows.dropFirst().map { [$0[1], $0[4], $0[5], $0[6]] } == [
                ["2026-03-01", "HKCategoryValueSleepAnalysisInBed", "1", "3600"],
                ["2026-03-02", "HKCategoryValueSleepAnalysisInBed", "0", "25200"],
                ["2026-03-02", "HKCategoryValueSleepAnalysisAsleepCore", "1", "19800"],
            ])
        let objects = try work.run("stats", "--type", "sleepAnalysis", "--format", "jsonl").objects
        #expect(objects.map { $0["value"] as? Int } == [0, 0, 3])
        #expect(objects.first?["count"] as? Int == 1)
    }

    @Test func `all types share one row form, unused columns empty`() throws {
        let work = try filled()
        let rows = try work.run("stats", "--format", "csv").csv
        #expect(
            rows.first == [
                "type", "bucket", "start", "end", "unit", "value", "count", "sum", "min", "max", "average",
                "mostRecent",
                "seconds", "style",
            ])
        #expect(rows.count == 8)
        let objects = try work.run("stats", "--format", "json").array
        let steps = objects.filter { $0["type"] as? String == "HKQuantityTypeIdentifierStepCount" }
        #expect(steps.allSatisfy { $0["min"] is NSNull && $0["value"] is NSNull && $0["seconds"] is NSNull })
        #expect(Set(objects.first?.keys.map { $0 } ?? []) == Set(rows.first ?? []))
    }

    @Test func `options choose columns; what identifies a row and the style stay`() throws {
        let rows = try filled().run(
            "stats", "--type", "heartRate", "--options", "average,max", "--format", "csv"
        ).csv
        #expect(rows.first == ["type", "bucket", "start", "end", "unit", "max", "average", "style"])
    }

    @Test(arguments: [
        ("hour", "2026-03-01T08"), ("day", "2026-03-01"), ("week", "2026-W09"), ("month", "2026-03"),
        ("year", "2026"),
    ])
    func `labels of buckets`(every: String, label: String) throws {
        let rows = try filled().run("stats", "--type", "stepCount", "--every", every, "--format", "csv").csv
        #expect(rows.dropFirst().first?[1] == label)
    }

    @Test func `fill gives empty buckets with count 0`() throws {
        let rows = try filled().run(
            "stats", "--type", "stepCount", "--fill", "--start", "2026-02-28", "--end", "2026-03-03",
            "--format", "csv"
        ).csv.dropFirst()
        #expect(
            rows.map { [$0[1], $0[5], $0[6]] } == [
                ["2026-02-28", "0", ""], ["2026-03-01", "3", "750"], ["2026-03-02", "1", "50"],
                ["2026-03-03", "0", ""],
            ])
    }

    @Test func `another unit and another zone`() throws {
        let work = try filled()
        let unit = try work.run("stats", "--type", "heartRate", "--unit", "count/s", "--format", "jsonl")
            .objects
        #expect(unit.last?["max"] as? Double == 1.5)
        #expect(unit.last?["unit"] as? String == "count/s")
        let zone = try work.run("stats", "--type", "stepCount", "--time-zone", "UTC", "--format", "jsonl")
            .objects
        #expect(zone.first?["start"] as? String == "2026-03-01T00:00:00Z")
        #expect(zone.first?["sum"] as? Double == 800)
    }

    @Test func `explain ends with the number that stats prints`() throws {
        let work = try filled()
        let rows = try work.run("explain", "--type", "stepCount", "--day", "2026-03-01", "--format", "csv")
            .csv
        #expect(
            Array((rows.first ?? []).prefix(9)) == [
                "uuid", "source", "rank", "start", "end", "value", "unit", "counted", "coveredBy",
            ])
        let counted = rows.dropFirst().compactMap { Double($0[7]) }.reduce(0, +)
        #expect(counted == 750)
        let covered = rows.first { $0[0] == uuid(1) }
        #expect(covered?[7] == "300")
        #expect(covered?[8] == "Anna's Watch")
        let page = try work.run("explain", "--type", "stepCount", "--day", "2026-03-01")
        #expect(page.lines.last?.contains("sum 750 count") == true)
    }

    @Test func `sources show rank and reason, and prefer changes them`() throws {
        let work = try filled()
        let rows = try work.run("sources", "--type", "stepCount", "--format", "csv").csv
        #expect(rows.first == ["type", "rank", "source", "class", "reason", "samples", "first", "last"])
        #expect(rows.dropFirst().map { $0[2] } == ["Anna's Watch", "Anna's iPhone"])
        let set = try work.run(
            "sources", "--type", "stepCount", "--prefer", "Anna's iPhone", "--format", "csv")
        #expect(set.csv.dropFirst().map { $0[2] } == ["Anna's iPhone", "Anna's Watch"])
        let sum =
            try work.run("stats", "--type", "stepCount", "--format", "jsonl").objects.first?["sum"] as? Double
        // The phone's 600 whole, half of the watch's 400, half of the 100 over midnight.
        #expect(sum == 850)
        #expect(try work.run("replay", "--from", "0").status == 0)
        let back = try work.run("sources", "--type", "stepCount", "--prefer", "", "--format", "csv")
        #expect(back.csv.dropFirst().map { $0[2] } == ["Anna's Watch", "Anna's iPhone"])
    }

    @Test func `config shows and changes zone and style`() throws {
        let work = try filled()
        #expect(try work.run("config", "--format", "json").object["timeZone"] as? String == "Europe/Berlin")
        let zone = try work.run("config", "--time-zone", "UTC", "--format", "json")
        #expect(zone.object["timeZone"] as? String == "UTC")
        let sums = try work.run("stats", "--type", "stepCount", "--format", "jsonl").objects.map {
            $0["sum"] as? Double
        }
        #expect(sums == [800])
        let style = try work.run("config", "--style", "heartRate=cumulative", "--format", "json")
        #expect((style.object["styles"] as? [String: String])?[heartRate] == "cumulative")
        #expect(
            try work.run("stats", "--type", "heartRate", "--format", "csv").csv.first?.contains("sum") == true
        )
        try work.run("config", "--style", "heartRate=default")
        #expect(
            try work.run("stats", "--type", "heartRate", "--format", "csv").csv.first?.contains("average")
                == true)
    }

    @Test func `a chart is no wider than asked, and the picture is well formed`() throws {
        let work = try filled()
        for type in ["stepCount", "heartRate", "sleepAnalysis"] {
            let chart = try work.run("chart", "--type", type)
            #expect(chart.status == 0)
            #expect(chart.lines.allSatisfy { $0.count <= 80 })
            #expect(chart.output.contains("2026-03-01"))
            #expect(!chart.output.contains("\u{1B}"))
            let svg = try work.run("chart", "--type", type, "--svg", work.path("chart.svg"))
            #expect(svg.status == 0)
            let text = try work.read("chart.svg")
            #expect(text.hasPrefix("<svg "))
            #expect(text.hasSuffix("</svg>\n"))
            #expect(text.components(separatedBy: "<rect").count > 2)
        }
        #expect(
            try work.run("chart", "--type", "stepCount", "--format", "csv").output
                == work.run("stats", "--type", "stepCount", "--format", "csv").output)
    }
}
