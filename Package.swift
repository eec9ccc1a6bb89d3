// swift-tools-version: 6.2
import PackageDescription

// The rooms and who may import whom: ARCHITECTURE.md. SwiftPM holds a target to the modules that it
// lists here, so the table below is the import rule.

let settings: [SwiftSetting] = [
    .enableExperimentalFeature("Lifetimes"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

let protobuf = Target.Dependency.product(name: "SwiftProtobuf", package: "swift-protobuf")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "tapedeck",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "Tapedeck", targets: ["Tapedeck"]),
        .library(
            name: "TapedeckCore", targets: ["TapedeckModel", "TapedeckLog", "TapedeckProjections"]),
        .library(name: "TapedeckConnectors", targets: ["TapedeckConnectors"]),
        .library(name: "TapedeckTesting", targets: ["TapedeckTesting"]),
        .executable(name: "storectl", targets: ["storectl"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CLMDB", pkgConfig: "lmdb",
            providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
        .systemLibrary(
            name: "CISAL", pkgConfig: "libisal",
            providers: [.apt(["libisal-dev"]), .brew(["isa-l"])]),

        .target(name: "TapedeckLMDB", dependencies: ["CLMDB"], swiftSettings: settings),
        .target(name: "TapedeckModel", dependencies: ["CISAL", crypto], swiftSettings: settings),
        .target(
            name: "TapedeckLog", dependencies: ["TapedeckLMDB", "TapedeckModel", crypto],
            swiftSettings: settings),
        .target(
            name: "TapedeckProjections",
            dependencies: ["TapedeckLMDB", "TapedeckLog", "TapedeckModel", crypto],
            swiftSettings: settings),
        .target(
            name: "TapedeckVideo",
            dependencies: ["TapedeckModel", "TapedeckLog", "TapedeckProjections", protobuf],
            swiftSettings: settings),
        .target(
            name: "TapedeckConnectors",
            dependencies: ["TapedeckModel", "TapedeckLog", "TapedeckVideo", protobuf],
            swiftSettings: settings),
        .target(
            name: "Tapedeck",
            dependencies: ["TapedeckModel", "TapedeckLog", "TapedeckProjections", "TapedeckVideo"],
            swiftSettings: settings),
        .target(
            name: "StorectlCommands",
            dependencies: ["Tapedeck", "TapedeckConnectors", arguments],
            swiftSettings: settings),
        .executableTarget(
            name: "storectl", dependencies: ["StorectlCommands"], swiftSettings: settings),
        .target(
            name: "TapedeckTesting",
            dependencies: ["Tapedeck", "TapedeckModel", "TapedeckLog", "TapedeckProjections"],
            swiftSettings: settings),

        .testTarget(
            name: "TapedeckModelTests", dependencies: ["TapedeckModel"], swiftSettings: settings),
        .testTarget(
            name: "TapedeckLogTests",
            dependencies: [
                "TapedeckLMDB", "TapedeckLog", "TapedeckModel", "tapedeck-crash-child", crypto,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TapedeckProjectionsTests",
            dependencies: ["TapedeckLMDB", "TapedeckLog", "TapedeckModel", "TapedeckProjections"],
            swiftSettings: settings),
        .testTarget(
            name: "TapedeckVideoTests",
            dependencies: ["TapedeckModel", "TapedeckProjections", "TapedeckVideo", protobuf],
            swiftSettings: settings),
        .testTarget(
            name: "TapedeckConnectorsTests",
            dependencies: [
                "TapedeckConnectors", "TapedeckModel", "TapedeckProjections", "TapedeckVideo",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "HouseTests", dependencies: ["Tapedeck", "TapedeckTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "StorectlTests", dependencies: ["StorectlCommands", "storectl"],
            swiftSettings: settings),
        .executableTarget(
            name: "tapedeck-crash-child", dependencies: ["TapedeckLog", "TapedeckModel"],
            path: "Tests/CrashChild", swiftSettings: settings),
    ]
)
