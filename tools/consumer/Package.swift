// swift-tools-version: 6.2
import PackageDescription

// This program represents an app by another developer: it links the product `Tapedeck` and uses
// only public names. The program's domain is library loans, which the store knows nothing about.

let package = Package(
    name: "consumer",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "tapedeck", path: "../..")],
    targets: [
        .executableTarget(
            name: "consumer", dependencies: [.product(name: "Tapedeck", package: "tapedeck")])
    ]
)
