// swift-tools-version: 6.2
import PackageDescription

// A program as others write them: it links the product `Tapedeck` and sees public names only. Its
// domain is a library's loans, which the store knows nothing of.

let package = Package(
    name: "consumer",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "tapedeck", path: "../..")],
    targets: [
        .executableTarget(
            name: "consumer", dependencies: [.product(name: "Tapedeck", package: "tapedeck")])
    ]
)
