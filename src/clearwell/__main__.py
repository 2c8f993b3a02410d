from clearwell.adapters.cli import main

main()
