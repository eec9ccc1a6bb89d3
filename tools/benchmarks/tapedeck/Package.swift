// swift-tools-version: 6.2
import PackageDescription

// This is a separate package that uses only public products, as any other program would.
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
