// swift-tools-version: 6.2
import PackageDescription

// ARCHITECTURE.md describes the modules and their imports. A target can import only the modules
// that it lists here, so this file enforces the import rules.

let settings: [SwiftSetting] = [
    .enableExperimentalFeature("Lifetimes"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

let protobuf = Target.Dependency.product(name: "SwiftProtobuf", package: "swift-protobuf")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let httpClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdTesting = Target.Dependency.product(
    name: "HummingbirdTesting", package: "hummingbird")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let lifecycle = Target.Dependency.product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle")
let nio = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioHTTP = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")

let package = Package(
    name: "tapedeck",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "Tapedeck", targets: ["Tapedeck"]),
        .library(
            name: "TapedeckCore", targets: ["TapedeckModel", "TapedeckLog", "TapedeckProjections"]),
        .library(name: "TapedeckConnectors", targets: ["TapedeckConnectors"]),
        .library(name: "TapedeckServer", targets: ["TapedeckServer"]),
        .library(name: "TapedeckTesting", targets: ["TapedeckTesting"]),
        .executable(name: "storectl", targets: ["storectl"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CLMDB", pkgConfig: "lmdb",
            providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
        .systemLibrary(
            name: "CISAL", pkgConfig: "libisal",
            providers: [.apt(["libisal-dev"]), .brew(["isa-l"])]),
        .systemLibrary(
            name: "CZstd", pkgConfig: "libzstd",
            providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
        .systemLibrary(
            name: "CLibXML2", pkgConfig: "libxml-2.0",
            providers: [.apt(["libxml2-dev"]), .brew(["libxml2"])]),
        .systemLibrary(name: "CMalloc"),

        .target(name: "TapedeckLMDB", dependencies: ["CLMDB"], swiftSettings: settings),
        .target(name: "TapedeckModel", dependencies: ["CISAL", crypto], swiftSettings: settings),
        .target(
            name: "TapedeckLog", dependencies: ["TapedeckLMDB", "TapedeckModel", crypto],
            swiftSettings: settings),
        .target(
            name: "TapedeckProjections",
            dependencies: ["TapedeckLMDB", "TapedeckLog", "TapedeckModel", crypto, deque],
            swiftSettings: settings),
        .target(
            name: "TapedeckVideo",
            dependencies: ["TapedeckModel", "TapedeckLog", "TapedeckProjections", protobuf],
            swiftSettings: settings),
        .target(
            name: "TapedeckSyncProtocol",
            dependencies: ["CZstd", "TapedeckModel", crypto, protobuf], swiftSettings: settings),
        .target(
            name: "TapedeckSync",
            dependencies: [
                "TapedeckModel", "TapedeckLog", "TapedeckProjections", "TapedeckSyncProtocol",
                crypto, httpClient, nio, nioHTTP, protobuf,
            ],
            swiftSettings: settings),
        .target(
            name: "TapedeckServer",
            dependencies: [
                "TapedeckModel", "TapedeckLMDB", "TapedeckSyncProtocol", crypto, hummingbird,
                hummingbirdCore, lifecycle, logging, nio, nioHTTP,
            ],
            swiftSettings: settings),
        .target(
            name: "TapedeckConnectors",
            dependencies: [
                "CLibXML2", "TapedeckModel", "TapedeckLog", "TapedeckProjections", "TapedeckVideo",
                "TapedeckSync", crypto, protobuf,
            ],
            swiftSettings: settings),
        .target(
            name: "Tapedeck",
            dependencies: [
                "TapedeckModel", "TapedeckLog", "TapedeckProjections", "TapedeckVideo",
                "TapedeckSync",
            ],
            swiftSettings: settings),
        .target(
            name: "StorectlCommands",
            dependencies: [
                "Tapedeck", "TapedeckConnectors", "TapedeckServer", "TapedeckTesting", arguments,
                lifecycle, logging,
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "storectl", dependencies: ["CMalloc", "StorectlCommands"],
            swiftSettings: settings),
        .target(
            name: "TapedeckTesting",
            dependencies: [
                "Tapedeck", "TapedeckModel", "TapedeckLog", "TapedeckProjections", crypto,
                hummingbird, hummingbirdCore, lifecycle, logging, nio,
            ],
            swiftSettings: settings),

        .target(name: "CTestCalls", path: "Tests/CrashCalls"),
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: settings),
        .testTarget(
            name: "TapedeckModelTests", dependencies: ["TapedeckModel", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "TapedeckLogTests",
            dependencies: [
                "TapedeckLMDB", "TapedeckLog", "TapedeckModel", "tapedeck-crash-child", crypto,
                "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TapedeckProjectionsTests",
            dependencies: [
                "TapedeckLMDB", "TapedeckLog", "TapedeckModel", "TapedeckProjections",
                "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TapedeckVideoTests",
            dependencies: [
                "TapedeckLMDB", "TapedeckLog", "TapedeckModel", "TapedeckProjections",
                "TapedeckVideo", protobuf, "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TapedeckConnectorsTests",
            dependencies: [
                "TapedeckConnectors", "TapedeckLMDB", "TapedeckLog", "TapedeckModel",
                "TapedeckProjections", "TapedeckSync", "TapedeckTesting", "TapedeckVideo",
                "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TapedeckServerTests",
            dependencies: [
                "TapedeckLMDB", "TapedeckModel", "TapedeckServer", "TapedeckSyncProtocol",
                hummingbird, hummingbirdTesting, "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TapedeckSyncTests",
            dependencies: [
                "TapedeckLog", "TapedeckModel", "TapedeckProjections", "TapedeckServer",
                "TapedeckSync", "TapedeckSyncProtocol", "TapedeckTesting", "TestSupport", nio,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "HouseTests", dependencies: ["Tapedeck", "TapedeckTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "TapedeckTestingTests", dependencies: ["TapedeckTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "StorectlTests",
            dependencies: ["StorectlCommands", "TapedeckTesting", "storectl", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "RowTests",
            dependencies: [
                "Tapedeck", "TapedeckConnectors", "TapedeckTesting", "TapedeckVideo",
                "TapedeckModel", "TapedeckProjections", "TapedeckLog", "TestSupport",
            ],
            path: "Tests/Rows", swiftSettings: settings),
        .executableTarget(
            name: "tapedeck-crash-child",
            dependencies: ["CTestCalls", "TapedeckLog", "TapedeckModel"],
            path: "Tests/CrashChild", swiftSettings: settings),
    ]
)

// tools/test --filter builds only the test targets that it needs.
if let names = Context.environment["TAPEDECK_TEST_TARGETS"]?.split(separator: " "), !names.isEmpty {
    package.targets.removeAll { $0.type == .test && !names.contains($0.name[...]) }
}
