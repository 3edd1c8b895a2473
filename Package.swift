// swift-tools-version: 6.2
import PackageDescription

/// Settings shared by every Swift target in the package.
let swiftSettings: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableExperimentalFeature("Lifetimes"),
]

let package = Package(
    name: "hklog",
    platforms: [.macOS(.v15), .iOS(.v18), .watchOS(.v11)],
    products: [
        .library(name: "HKLog", targets: ["HKLog"]),
        .library(name: "HKLogJSONLines", targets: ["HKLogJSONLines"]),
        .library(name: "HKLogAppleHealth", targets: ["HKLogAppleHealth"]),
        .executable(name: "hklog", targets: ["HKLogCommand"]),
        .executable(name: "hklog-benchmarks", targets: ["HKLogBenchmarks"]),
    ],
    targets: [
        .systemLibrary(
            name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]),
        .systemLibrary(
            name: "CZip", pkgConfig: "libzip", providers: [.apt(["libzip-dev"]), .brew(["libzip"])]),
        .target(name: "CHKLogShims"),
        .target(
            name: "HKLogFormat", dependencies: ["CHKLogShims", "CLZ4"], swiftSettings: swiftSettings,
            linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))]),
        .target(
            name: "HKLog", dependencies: ["HKLogFormat", "CHKLogShims"], swiftSettings: swiftSettings),
        .target(
            name: "HKLogJSONLines", dependencies: ["HKLog", "HKLogFormat"], swiftSettings: swiftSettings),
        .target(
            name: "HKLogAppleHealth", dependencies: ["HKLog", "CHKLogShims", "CZip"],
            swiftSettings: swiftSettings),
        .target(
            name: "HKLogSynthesis", dependencies: ["HKLog", "HKLogFormat", "CZip"],
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "HKLogCommand",
            dependencies: ["HKLog", "HKLogJSONLines", "HKLogAppleHealth", "HKLogSynthesis"],
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "HKLogBenchmarks",
            dependencies: ["HKLogFormat", "HKLog", "HKLogJSONLines", "HKLogTestSupport"],
            path: "Benchmarks/HKLogBenchmarks", swiftSettings: swiftSettings),
        .target(
            name: "HKLogTestSupport", dependencies: ["HKLogFormat", "HKLog"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "HKLogFormatTests", dependencies: ["HKLogFormat"], exclude: ["Golden"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "HKLogTests", dependencies: ["HKLog", "HKLogFormat", "HKLogTestSupport"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "HKLogJSONLinesTests",
            dependencies: ["HKLogJSONLines", "HKLog", "HKLogFormat"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "HKLogAppleHealthTests",
            dependencies: ["HKLogAppleHealth", "HKLog"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "HKLogCommandTests",
            dependencies: ["HKLogCommand", "HKLog"],
            exclude: ["Golden"], swiftSettings: swiftSettings),
        .testTarget(
            name: "HKLogSynthesisTests", dependencies: ["HKLogSynthesis", "HKLog", "HKLogFormat"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "RepositoryTests", swiftSettings: swiftSettings),
    ],
    swiftLanguageModes: [.v6]
)
