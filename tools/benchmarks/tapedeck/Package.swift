// swift-tools-version: 6.2
import PackageDescription

// A separate package that uses only the public products, as any program can.
let package = Package(
    name: "bench-tapedeck",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "tapedeck", path: "../../..")],
    targets: [
        .executableTarget(
            name: "bench-tapedeck",
            dependencies: [
                .product(name: "Tapedeck", package: "tapedeck"),
                .product(name: "TapedeckTesting", package: "tapedeck"),
            ]),
        .executableTarget(
            name: "bench-sync",
            dependencies: [
                .product(name: "Tapedeck", package: "tapedeck"),
                .product(name: "TapedeckTesting", package: "tapedeck"),
            ]),
    ]
)
