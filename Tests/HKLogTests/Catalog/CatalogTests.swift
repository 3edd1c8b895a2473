import HKLog
import Testing

@Suite struct CatalogTests {
    @Test func `quantity types are the golden table`() throws {
        let rows = try GoldenTable("quantity-types.tsv").rows
        #expect(rows.count == Catalog.quantityTypes.count)
        for row in rows {
            let type = try #require(Catalog.quantityType(row.cell("identifier")))
            #expect(type.identifier == row.cell("identifier"))
            #expect(type.name == row.cell("name"))
            #expect(type.style.rawValue == row.cell("style"))
            #expect(type.styleBeforeSDK26_6.rawValue == row.cell("style_before_sdk_26_6"))
            #expect(type.canonicalUnitText == row.cell("canonical_unit"))
            #expect(try type.canonicalUnit == Unit(row.cell("canonical_unit")))
            #expect(type.canonicalUnit.description == row.cell("canonical_unit"))
            #expect(type.dimension == row.cell("dimension"))
            #expect(type.introducedInIOS == row.cell("ios_introduced"))
            #expect(Catalog.fullIdentifier(type.name) == type.identifier)
            #expect(Catalog.shortName(type.identifier) == type.name)
            #expect(SampleKind.of(type.identifier) == .quantity)
            if !row.cell("sdk_header_unit").isEmpty {
                #expect(try Unit(row.cell("sdk_header_unit")).isCompatible(with: type.canonicalUnit))
            }
        }
    }

    @Test func `category types and values are the golden table`() throws {
        let rows = try GoldenTable("category-types.tsv").rows
        #expect(Set(rows.map { $0.cell("raw_string") }).count == Catalog.categoryTypes.count)
        for row in rows {
            let type = try #require(Catalog.categoryType(row.cell("raw_string")))
            #expect(type.identifier == row.cell("raw_string"))
            #expect(Catalog.categoryType(row.cell("identifier_constant"))?.identifier == type.identifier)
            #expect(type.valueEnumeration == row.cell("value_enum"))
            // The renamed type came a release later than its identifier.
            if row.cell("identifier_constant") == row.cell("raw_string") {
                #expect(type.introducedInIOS == row.cell("ios_introduced"))
            }
            if !row.cell("swift_name").isEmpty { #expect(type.name == row.cell("swift_name")) }
            let value = try #require(Int64(row.cell("value_int")))
            let name = row.cell("value_name_in_export_xml")
            #expect(type.rawValue(named: name) == value)
            if row.cell("alias").isEmpty { #expect(type.name(of: value) == name) }
            #expect(Catalog.fullIdentifier(type.name) == type.identifier)
            #expect(SampleKind.of(type.identifier) == .category)
            #expect(SampleKind.of(row.cell("identifier_constant")) == .category)
        }
        let inTable = Set(
            rows.map { [$0.cell("value_enum"), $0.cell("value_int"), $0.cell("value_name_in_export_xml")] })
        let inCatalog = Set(
            Catalog.categoryTypes.flatMap { type in
                type.values.map { [type.valueEnumeration, "\($0.rawValue)", $0.name] }
            })
        // The legacy names come from the notes: five of menstrual flow, one of audio exposure.
        #expect(inTable.isSubset(of: inCatalog))
        #expect(inCatalog.count == inTable.count + 6)
    }

    @Test func `old and shared value names are read, and new ones written`() throws {
        let sleep = try #require(Catalog.categoryType("HKCategoryTypeIdentifierSleepAnalysis"))
        #expect(sleep.rawValue(named: "HKCategoryValueSleepAnalysisAsleep") == 1)
        #expect(sleep.name(of: 1) == "HKCategoryValueSleepAnalysisAsleepUnspecified")
        #expect(sleep.rawValue(named: "HKCategoryValueNotApplicable") == nil)
        #expect(sleep.name(of: 77) == nil)
        let flow = try #require(Catalog.categoryType("HKCategoryTypeIdentifierMenstrualFlow"))
        #expect(flow.rawValue(named: "HKCategoryValueVaginalBleedingHeavy") == 4)
        #expect(flow.name(of: 4) == "HKCategoryValueMenstrualFlowHeavy")
        let audio = try #require(Catalog.categoryType("HKCategoryTypeIdentifierAudioExposureEvent"))
        #expect(audio.rawValue(named: "HKCategoryValueAudioExposureEventLoudEnvironment") == 1)
        let mindful = try #require(Catalog.categoryType("HKCategoryTypeIdentifierMindfulSession"))
        #expect(mindful.rawValue(named: "HKCategoryValueNotApplicable") == 0)
    }

    @Test func `other types, workouts, keys and constants are the golden tables`() throws {
        let others = try GoldenTable("other-sample-kinds.tsv").rows
        #expect(others.count == Catalog.otherTypes.count)
        for row in others {
            let type = try #require(Catalog.otherType(row.cell("raw_string")))
            #expect(type.group == row.cell("kind"))
            #expect(type.identifier == row.cell("raw_string"))
            #expect(Catalog.fullIdentifier(type.name) == type.identifier)
            let kind = SampleKind(rawValue: row.cell("kind")) ?? .other
            #expect(SampleKind.of(type.identifier) == kind)
        }
        let workouts = try GoldenTable("workout-activity-types.tsv").rows
        #expect(workouts.count == Catalog.workoutActivities.count)
        for row in workouts {
            let activity = try #require(Catalog.workoutActivity(Int64(row.cell("raw_value")) ?? -1))
            #expect(activity.identifier == row.cell("name_in_export_xml"))
            #expect(activity.name == row.cell("swift_name"))
            #expect(Catalog.workoutActivity(named: activity.identifier)?.rawValue == activity.rawValue)
            #expect(Catalog.workoutActivity(named: activity.name)?.rawValue == activity.rawValue)
        }
        let keys = try GoldenTable("metadata-keys.tsv").rows
        #expect(keys.count == MetadataKey.all.count)
        for (row, key) in zip(keys, MetadataKey.all) {
            #expect(key.constantName == row.cell("constant"))
            #expect(key.shortForm == row.cell("short_form"))
            #expect(key.observedSpelling ?? "" == row.cell("raw_key_observed"))
            #expect(key.valueKind == row.cell("value_kind"))
            #expect(key.matches(row.cell("constant")) && key.matches(row.cell("short_form")))
        }
        let constants = try GoldenTable("enums.tsv").rows
        for row in constants {
            #expect(Catalog.constant(named: row.cell("constant")) == Int64(row.cell("raw_value")))
        }
        #expect(Catalog.constant(named: "HKNoSuchThing") == nil)
    }

    @Test func `no two types share a short name, whatever its case`() {
        let names =
            Catalog.quantityTypes.map(\.name) + Catalog.categoryTypes.map(\.name)
            + Catalog.otherTypes.map(\.name)
        #expect(Set(names.map { $0.lowercased() }).count == names.count)
    }

    @Test func `short names of the other kinds are as Swift has them`() {
        let expected = [
            "HKWorkoutTypeIdentifier": "workout", "HKWorkoutRouteTypeIdentifier": "workoutRoute",
            "HKCorrelationTypeIdentifierFood": "food", "HKDataTypeIdentifierAudiogram": "audiogram",
            "HKDataTypeStateOfMind": "stateOfMind", "HKDocumentTypeIdentifierCDA": "cda",
            "HKScoredAssessmentTypeIdentifierPHQ9": "phq9", "HKQuantityTypeIdentifierNewThing": "newThing",
            "HKLogMe": "HKLogMe", "HK": "HK", "": "",
        ]
        for (identifier, name) in expected { #expect(Catalog.shortName(identifier) == name) }
    }

    @Test func `the kind of an unknown type follows from its prefix`() {
        #expect(SampleKind.of("HKQuantityTypeIdentifierFromTheFuture") == .quantity)
        #expect(SampleKind.of("HKCategoryTypeIdentifierFromTheFuture") == .category)
        #expect(SampleKind.of("HKCorrelationTypeIdentifierFromTheFuture") == .correlation)
        #expect(SampleKind.of("HKWorkoutTypeIdentifier") == .workout)
        #expect(SampleKind.of("HKWorkoutTypeIdentifierTwo") == .other)
        #expect(SampleKind.of("HKLogActivitySummary") == .other)
        #expect(SampleKind.of("") == .other)
        #expect(SampleKind.of("HKDataTypeIdentifierStateOfMind") == .other)
    }

    @Test func `people may write types loosely`() throws {
        let steps = "HKQuantityTypeIdentifierStepCount"
        for text in [steps, "stepCount", "STEPCOUNT", "hkquantitytypeidentifierstepcount"] {
            #expect(try Catalog.resolve(text) == steps)
        }
        #expect(
            try Catalog.resolve("environmentalaudioexposureevent")
                == "HKCategoryTypeIdentifierAudioExposureEvent")
        #expect(try Catalog.resolve("audioExposureEvent") == "HKCategoryTypeIdentifierAudioExposureEvent")
        #expect(try Catalog.resolve("workout") == "HKWorkoutTypeIdentifier")
        #expect(try Catalog.resolve("sleepanalysis") == "HKCategoryTypeIdentifierSleepAnalysis")
    }

    @Test func `what the store holds is accepted and wins`() throws {
        let new = "HKQuantityTypeIdentifierFromTheFuture"
        #expect(throws: HKLogError.self) { try Catalog.resolve(new) }
        for text in [new, "fromTheFuture", "FROMTHEFUTURE"] {
            #expect(try Catalog.resolve(text, known: [new]) == new)
        }
        let constant = "HKDataTypeIdentifierStateOfMind"
        #expect(try Catalog.resolve("stateOfMind") == "HKDataTypeStateOfMind")
        #expect(try Catalog.resolve("stateOfMind", known: [constant]) == constant)
        #expect(try Catalog.resolve("HKDataTypeStateOfMind", known: [constant]) == constant)
    }

    @Test(arguments: [
        ("stepCuont", "unknown type 'stepCuont'; did you mean stepCount?"),
        ("heartrat", "unknown type 'heartrat'; did you mean heartRate?"),
        ("x", "unknown type 'x'; 'hklog types --all' lists the types"),
        ("", "unknown type ''; 'hklog types --all' lists the types"),
        (
            "HKQuantityTypeIdentifierStepCunt",
            "unknown type 'HKQuantityTypeIdentifierStepCunt'; did you mean HKQuantityTypeIdentifierStepCount?"
        ),
    ])
    func `a near miss gets advice`(text: String, message: String) {
        #expect {
            try Catalog.resolve(text)
        } throws: {
            ($0 as? HKLogError)?.message == message
        }
    }

    @Test func `a long text is refused in short`() {
        #expect {
            try Catalog.resolve(String(repeating: "y", count: 100_000))
        } throws: {
            (($0 as? HKLogError)?.message.count ?? 1000) < 120
        }
    }
}
