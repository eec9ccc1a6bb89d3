// swift-tools-version: 6.2
import PackageDescription

// This program is like an app by another developer: it links the product `Tapedeck` and uses only
// public names. Its domain is library loans, about which the store knows nothing.

let package = Package(
    name: "consumer",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "tapedeck", path: "../..")],
    targets: [
        .executableTarget(
            name: "consumer", dependencies: [.product(name: "Tapedeck", package: "tapedeck")])
    ]
)
