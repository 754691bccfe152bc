import Wire

extension Log {
    /// Logs a step of a traced request, for `parley trace`. The event begins with `traced: `.
    public func info(_ event: StaticString, _ trace: TraceContext, _ fields: [LogField]) {
        info(event, [LogField("trace", trace.traceText), LogField("parent", trace.parentText)] + fields)
    }
}
