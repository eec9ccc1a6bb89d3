// swift-tools-version: 6.2
import PackageDescription

// This program writes generated activity as lines; tools/generate builds and runs it.

let package = Package(
    name: "generator",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "tapedeck", path: "../..")],
    targets: [
        .executableTarget(
            name: "generate-activity",
            dependencies: [.product(name: "TapedeckTesting", package: "tapedeck")])
    ]
)
