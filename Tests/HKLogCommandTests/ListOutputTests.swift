import Foundation
import Testing

/// Lists and single things in each format.
struct ListOutputTests {
    private func filled() throws -> Workspace {
        let work = try Workspace()
        let outcome = try work.fill(history)
        #expect(outcome.status == 0, "\(outcome.errors)")
        return work
    }

    @Test func `append prints one object a batch`() throws {
        let outcome = try Workspace().fill(history)
        #expect(
            outcome.lines.first
                == "{\"logAnchor\":1,\"stream\":\"\(steps)\",\"added\":4,\"deleted\":0,\"duplicate\":false,\"stale\":false}"
        )
        #expect(outcome.objects.map { $0["logAnchor"] as? Int } == [1, 2, 3, 4])
    }

    @Test(arguments: [
        ("samples", "uuid,type,start,end,value,unit,source,device,stream"),
        ("types", "type,kind,style,unit,samples,first,last,sources"),
        ("sources", "type,rank,source,class,reason,samples,first,last"),
        ("anchors", "stream,anchor,epoch,completeEpoch,seq,batches,logAnchor"),
        (
            "info",
            "store,formatVersion,timeZone,logAnchor,batches,samples,tombstones,streams,segments,logBytes,bytesPerSample,viewsAnchor,digest"
        ),
        ("verify", "sound,logAnchor,frames,segments,checkpoints,gaps,problems"),
    ])
    func `columns and keys are those of the contract`(command: String, columns: String) throws {
        let work = try filled()
        let csv = try work.run(command, "--format", "csv")
        #expect(csv.status == 0, "\(csv.errors)")
        #expect(csv.output.hasPrefix(columns + "\r\n"))
        #expect(csv.csv.allSatisfy { $0.count == columns.split(separator: ",").count })
        guard command != "samples" else { return }
        let json = try work.run(command, "--format", "jsonl")
        let keys = Set(columns.split(separator: ",").map(String.init))
        #expect(json.objects.allSatisfy { Set($0.keys) == keys })
        #expect(!json.objects.isEmpty)
    }

    @Test func `json of a list is an array of the JSON Lines objects`() throws {
        let work = try filled()
        for command in ["samples", "types", "sources", "anchors", "stats"] {
            let array = try work.run(command, "--format", "json").array as NSArray
            let lines = try work.run(command, "--format", "jsonl").objects as NSArray
            #expect(array.count > 0)
            #expect(array == lines, "\(command)")
        }
        let empty = try work.run("samples", "--type", "bodyMass", "--format", "json")
        #expect(empty.status == 0)
        #expect(empty.output == "[]\n")
    }

    @Test func `samples are those shown, by start, end and uuid, newest first unless asked otherwise`() throws
    {
        let work = try filled()
        let all = try work.run("samples", "--format", "csv").csv.dropFirst()
        #expect(all.count == 8)
        #expect(!all.contains { $0[0] == uuid(4) })
        let starts = all.map { $0[2] }
        #expect(starts == starts.sorted(by: >))
        let oldest = try work.run("samples", "--order", "oldest", "--limit", "2", "--format", "csv").csv
            .dropFirst()
        #expect(oldest.map { $0[0] } == [uuid(1), uuid(2)])
        #expect(oldest.first?[2] == "2026-03-01T07:00:00Z")
        let phone = try work.run("samples", "--source", "Anna's iPhone", "--format", "csv").csv.dropFirst()
        #expect(Set(phone.map { $0[0] }) == [uuid(1), uuid(3), uuid(21)])
        let night = try work.run("samples", "--type", "sleepAnalysis", "--format", "csv").csv.dropFirst()
        #expect(
            night.map { $0[4] } == [
                "HKCategoryValueSleepAnalysisAsleepCore", "HKCategoryValueSleepAnalysisInBed",
            ])
    }

    @Test func `a day as end is included, an instant is not`() throws {
        let work = try filled()
        func count(_ words: String...) throws -> Int {
            try work.run(["samples", "--type", "stepCount", "--format", "jsonl"] + words).lines.count
        }
        #expect(try count("--start", "2026-03-02") == 1)
        #expect(try count("--end", "2026-03-01") == 3)
        #expect(try count("--end", "2026-03-01T08:05:00+01:00") == 1)
        #expect(try count("--start", "2026-03-01T08:10:00+01:00", "--end", "2026-03-01T09:00:00+01:00") == 1)
        #expect(try count("--end", "7d") >= 0)
    }

    @Test func `in JSON a sample is the object of the batch, and its stream`() throws {
        let work = try filled()
        let object = try #require(
            try work.run(
                "samples", "--type", "sleepAnalysis", "--order", "newest", "--limit", "1", "--format", "jsonl"
            )
            .objects.first)
        #expect(object["uuid"] as? String == uuid(22))
        #expect(object["value"] as? Int == 3)
        #expect(object["stream"] as? String == sleep)
        #expect((object["source"] as? [String: String])?["productType"] == "Watch7,1")
    }

    @Test func `replay gives its counts as one object`() throws {
        let work = try filled()
        let object = try work.run("replay", "--from", "0", "--format", "json").object
        #expect(
            Set(object.keys) == [
                "from", "to", "batches", "added", "deleted", "suppressed", "samples", "buckets", "digest",
                "seconds",
                "samplesPerSecond",
            ])
        #expect(object["batches"] as? Int == 4)
        #expect(object["added"] as? Int == 9)
        #expect(object["deleted"] as? Int == 1)
        #expect(object["samples"] as? Int == 8)
        let digest = object["digest"] as? String
        #expect(digest == (try work.run("info", "--format", "json").object["digest"] as? String))
        let again = try work.run("replay", "--from", "2", "--format", "json").object
        #expect(again["digest"] as? String == digest)
        #expect(again["batches"] as? Int == 2)
        #expect(
            try work.run("replay", "--from", "0", "--to", "1", "--format", "json").object["samples"] as? Int
                == 4)
    }

    @Test func `types all lists the catalog`() throws {
        let work = try filled()
        let rows = try work.run("types", "--all", "--format", "csv").csv.dropFirst()
        #expect(rows.count > 150)
        #expect(
            rows.contains { $0[0] == "HKQuantityTypeIdentifierBodyMass" && $0[4] == "0" && $0[3] == "kg" })
        #expect(rows.contains { $0[0] == steps && $0[4] == "3" && $0[5] == "2026-03-01" && $0[7] == "2" })
    }

    // MARK: Text from data

    @Test func `cells that a spreadsheet would run get a quote, numbers do not`() throws {
        let work = try Workspace()
        let names = ["=1+1", "+49 123", "@home", "-x", "-5", "+7.5", "a,b", "say \"hi\""]
        let samples = names.enumerated().map { index, name in
            let text = name.replacingOccurrences(of: "\"", with: "\\\"")
            return sample(index + 1, start: "2026-03-01T0\(index):00:00Z", source: "\"\(text)\"")
        }
        try work.fill([batch(added: samples)])
        let csv = try work.run("samples", "--order", "oldest", "--format", "csv")
        #expect(
            csv.csv.dropFirst().map { $0[6] } == [
                "'=1+1", "'+49 123", "'@home", "'-x", "-5", "+7.5", "a,b", "say \"hi\"",
            ])
        #expect(csv.output.contains("\"a,b\""))
        #expect(csv.output.contains("\"say \"\"hi\"\"\""))
    }

    @Test func `control characters and marks of direction never reach the output raw`() throws {
        let work = try Workspace()
        let evil = #"evil\u001b[31m\u0007\u0000\u007f\u009b\u202e\u2066\n<script>&'"#
        try work.fill([
            batch(
                "\"anchor\":\"\(evil)\"", stream: "x\\u001b]0;t\\u0007",
                added: [
                    sample(
                        1, source: "{\"name\":\"\(evil)\"}", extra: "\"metadata\":{\"k\\u009b\":\"\(evil)\"}"),
                    sample(2, type: "HKEvil\\u001bType<b>", value: "null", unit: nil),
                ])
        ])
        var outputs: [Outcome] = []
        for command in [
            ["samples"], ["anchors"], ["sources"], ["types"], ["stats", "--separate-by-source"],
            ["changes", "--since", "0"],
            ["explain", "--type", "stepCount", "--day", "2026-03-01"], ["chart", "--type", "stepCount"],
        ] {
            for format in ["table", "csv", "json", "jsonl"] {
                outputs.append(try work.run(command + ["--format", format]))
            }
        }
        outputs.append(try work.run("stats", "--type", "nope\u{1B}[31m"))
        outputs.append(try work.run("append", work.path("no\u{1B}such\u{202E}file")))
        outputs.append(try work.run("samples", "--source", "x\u{1B}"))
        for outcome in outputs {
            for scalar in (outcome.output + outcome.errors).unicodeScalars {
                let isRaw =
                    (scalar.value < 0x20 && scalar != "\n" && scalar != "\r")
                    || (0x7F...0x9F).contains(scalar.value)
                    || (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
                #expect(!isRaw, "U+\(String(scalar.value, radix: 16)) in \(outcome.output)")
                if isRaw { return }
            }
        }
        let csv = try work.run("samples", "--type", "stepCount", "--format", "csv")
        #expect(csv.output.filter { $0 == "\r\n" }.count == 2)
        let json = try work.run("samples", "--type", "stepCount", "--format", "jsonl").objects.first
        #expect((json?["source"] as? [String: String])?["name"]?.hasPrefix("evil\u{1B}[31m\u{7}") == true)
        try work.run("chart", "--type", "stepCount", "--svg", work.path("c.svg"))
        #expect(!(try work.read("c.svg")).contains("<script"))
    }
}
