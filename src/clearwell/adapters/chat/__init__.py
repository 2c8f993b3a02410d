"""Messages and runs of LangChain's core, as the LangChain adapter and the LangGraph adapter both read them."""
