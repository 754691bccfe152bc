import Foundation
import PackagePlugin

/// Embeds the files of a target that are not Swift as `PackageResources`, whose properties are named after them.
///
/// SwiftPM's own `.embedInCode` writes an array of numbers, which the compiler reads ten times slower than a string.
@main
struct EmbedFiles: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let files = try Self.files(below: target.directoryURL)
        let script = context.package.directoryURL.appending(path: "Shared/Plugins/EmbedFiles/embed-files")
        let output = context.pluginWorkDirectoryURL.appending(path: "PackageResources.swift")
        return [
            .buildCommand(
                displayName: "Embedding the files of \(target.name)", executable: URL(filePath: "/bin/bash"),
                arguments: [script.path, output.path] + files.map(\.path),
                inputFiles: [script] + files, outputFiles: [output])
        ]
    }

    /// In the same order each time: another order would be another command, and compile everything again.
    private static func files(below directory: URL) throws -> [URL] {
        try FileManager.default.subpathsOfDirectory(atPath: directory.path)
            .filter { $0.hasSuffix(".sql") || $0.hasSuffix(".json") }
            .sorted()
            .map { directory.appending(path: $0) }
    }
}
