// swift-tools-version: 6.2
import PackageDescription

// A package of its own: it uses what any program can use, the public products.
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
