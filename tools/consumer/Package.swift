// swift-tools-version: 6.2
import PackageDescription

// A program as other developers write it: it links the product `Tapedeck` and uses public names
// only. Its domain is the loans of a library, of which the store knows nothing.

let package = Package(
    name: "consumer",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "tapedeck", path: "../..")],
    targets: [
        .executableTarget(
            name: "consumer", dependencies: [.product(name: "Tapedeck", package: "tapedeck")])
    ]
)
