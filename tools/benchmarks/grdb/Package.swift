// swift-tools-version: 6.2
import PackageDescription

// This is a separate package, so that the peer's dependencies never become dependencies of the
// library.
let package = Package(
    name: "grdb-peer",
    platforms: [.macOS(.v26)],
    dependencies: [.package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0")],
    targets: [
        .executableTarget(
            name: "grdb-peer", dependencies: [.product(name: "GRDB", package: "GRDB.swift")])
    ]
)
