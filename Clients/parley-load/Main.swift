import CommandSupport

/// parley-load: the program that `parley load` runs.
@main
enum Main {
    static func main() {
        CommandProcess.main { words throws(UsageError) in try CommandProcess.run(LoadCommand.self, words) }
    }
}
